"""What the pages and the code cite: the list, and the links from citations to their entries there."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from attnviz.app.state.choices import CITED

CITATION = re.compile(
    r"(?<![\w/-])(?P<who>(?:(?:Le|van)\s++)?[A-Z][\w-]++(?<=\w)"
    r"(?:\s++et\s++al\.|\s++(?:&|and)\s++(?:van\s++)?[A-Z][\w-]++(?<=\w))?)"
    r"\s++(?:(?P<year>(?:18|19|20)\d\d)|\((?P<in_brackets>(?:18|19|20)\d\d)\))(?!\w)"
)
"""Who and when: "Clark et al. 2019", "Abnar & Zuidema (2020)", "Lin 1991"."""

_SITES = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/", "https": "https:"}


class Reference(NamedTuple):
    """One entry.

    Attributes:
        title, venue: as published.
        found_at: "arXiv:" or "doi:" and the number; else an address; "" where there is none.
    """

    title: str
    venue: str
    found_at: str

    @property
    def address(self) -> str:
        """Where it can be read; "" where that is not known."""
        site, _, number = self.found_at.partition(":")
        return f"{_SITES[site]}{number}" if site else ""


_ACL, _NAACL = "Annual Meeting of the ACL", "NAACL"
_EMNLP, _NIPS, _ICLR, _ICML = "EMNLP", "NeurIPS", "ICLR", "ICML"
_JASA, _PREPRINT = "Journal of the American Statistical Association", "Preprint"

REFERENCES = {
    "Abnar & Zuidema 2020": Reference("Quantifying Attention Flow in Transformers", _ACL, "arXiv:2005.00928"),
    "Agarwal et al. 2025": Reference("gpt-oss-120b & gpt-oss-20b Model Card", _PREPRINT, "arXiv:2508.10925"),
    "Ba et al. 2016": Reference("Layer Normalization", _PREPRINT, "arXiv:1607.06450"),
    "Bahdanau et al. 2015": Reference(
        "Neural Machine Translation by Jointly Learning to Align and Translate", _ICLR, "arXiv:1409.0473"
    ),
    "Barkan et al. 2021": Reference(
        "Grad-SAM: Explaining Transformers via Gradient Self-Attention Maps", "CIKM", "arXiv:2204.11073"
    ),
    "Beltagy et al. 2020": Reference(
        "Longformer: The Long-Document Transformer", _PREPRINT, "arXiv:2004.05150"
    ),
    "Brunner et al. 2020": Reference("On Identifiability in Transformers", _ICLR, "arXiv:1908.04211"),
    "Clark et al. 2019": Reference(
        "What Does BERT Look At? An Analysis of BERT’s Attention", "BlackboxNLP", "arXiv:1906.04341"
    ),
    "Darcet et al. 2024": Reference("Vision Transformers Need Registers", _ICLR, "arXiv:2309.16588"),
    "Denil et al. 2014": Reference(
        "Extraction of Salient Sentences from Labelled Documents", _PREPRINT, "arXiv:1412.6815"
    ),
    "Devlin et al. 2019": Reference(
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        _NAACL,
        "arXiv:1810.04805",
    ),
    "Dosovitskiy et al. 2021": Reference(
        "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
        _ICLR,
        "arXiv:2010.11929",
    ),
    "Efron 1979": Reference(
        "Bootstrap Methods: Another Look at the Jackknife",
        "The Annals of Statistics 7(1)",
        "doi:10.1214/aos/1176344552",
    ),
    "Elhage et al. 2021": Reference(
        "A Mathematical Framework for Transformer Circuits",
        "Transformer Circuits Thread",
        "https://transformer-circuits.pub/2021/framework/index.html",
    ),
    "Fan et al. 2018": Reference("Hierarchical Neural Story Generation", _ACL, "arXiv:1805.04833"),
    "Graves et al. 2014": Reference("Neural Turing Machines", _PREPRINT, "arXiv:1410.5401"),
    "Haviv et al. 2022": Reference(
        "Transformer Language Models without Positional Encodings Still Learn Positional Information",
        "Findings of EMNLP",
        "arXiv:2203.16634",
    ),
    "He et al. 2016": Reference("Deep Residual Learning for Image Recognition", "CVPR", "arXiv:1512.03385"),
    "He et al. 2021": Reference(
        "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", _ICLR, "arXiv:2006.03654"
    ),
    "He et al. 2023": Reference(
        "DeBERTaV3: Improving DeBERTa using ELECTRA-Style Pre-Training with Gradient-Disentangled Embedding "
        "Sharing",
        _ICLR,
        "arXiv:2111.09543",
    ),
    "Heimersheim & Nanda 2024": Reference(
        "How to Use and Interpret Activation Patching", _PREPRINT, "arXiv:2404.15255"
    ),
    "Hendrycks & Gimpel 2016": Reference(
        "Gaussian Error Linear Units (GELUs)", _PREPRINT, "arXiv:1606.08415"
    ),
    "Hinton et al. 2015": Reference(
        "Distilling the Knowledge in a Neural Network", _PREPRINT, "arXiv:1503.02531"
    ),
    "Hochreiter & Schmidhuber 1997": Reference(
        "Long Short-Term Memory", "Neural Computation 9(8)", "doi:10.1162/neco.1997.9.8.1735"
    ),
    "Holtzman et al. 2020": Reference(
        "The Curious Case of Neural Text Degeneration", _ICLR, "arXiv:1904.09751"
    ),
    "Hoover et al. 2020": Reference(
        "exBERT: A Visual Analysis Tool to Explore Learned Representations in Transformer Models",
        _ACL,
        "arXiv:1910.05276",
    ),
    "Hu et al. 2022": Reference(
        "LoRA: Low-Rank Adaptation of Large Language Models", _ICLR, "arXiv:2106.09685"
    ),
    "Jain & Wallace 2019": Reference("Attention is not Explanation", _NAACL, "arXiv:1902.10186"),
    "Jordan et al. 2024": Reference(
        "Muon: An Optimizer for Hidden Layers in Neural Networks",
        "published by its authors",
        "https://kellerjordan.github.io/posts/muon/",
    ),
    "Kingma & Ba 2015": Reference("Adam: A Method for Stochastic Optimization", _ICLR, "arXiv:1412.6980"),
    "Kobayashi et al. 2020": Reference(
        "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
        _EMNLP,
        "arXiv:2004.10102",
    ),
    "Kobayashi et al. 2021": Reference(
        "Incorporating Residual and Normalization Layers into Analysis of Masked Language Models",
        _EMNLP,
        "arXiv:2109.07152",
    ),
    "Kovaleva et al. 2021": Reference(
        "BERT Busters: Outlier Dimensions that Disrupt Transformers", "Findings of ACL", "arXiv:2105.06990"
    ),
    "Kudo & Richardson 2018": Reference(
        "SentencePiece: A Simple and Language Independent Subword Tokenizer", _EMNLP, "arXiv:1808.06226"
    ),
    "Le Scao et al. 2022": Reference(
        "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model", _PREPRINT, "arXiv:2211.05100"
    ),
    "Levesque et al. 2012": Reference("The Winograd Schema Challenge", "KR", ""),
    "Li et al. 2016": Reference(
        "Understanding Neural Networks through Representation Erasure", _PREPRINT, "arXiv:1612.08220"
    ),
    "Lin 1991": Reference(
        "Divergence measures based on the Shannon entropy",
        "IEEE Transactions on Information Theory 37(1)",
        "doi:10.1109/18.61115",
    ),
    "Luong et al. 2015": Reference(
        "Effective Approaches to Attention-based Neural Machine Translation", _EMNLP, "arXiv:1508.04025"
    ),
    "Meng et al. 2022": Reference(
        "Locating and Editing Factual Associations in GPT", _NIPS, "arXiv:2202.05262"
    ),
    "Michel et al. 2019": Reference("Are Sixteen Heads Really Better than One?", _NIPS, "arXiv:1905.10650"),
    "Nostalgebraist 2020": Reference(
        "interpreting GPT: the logit lens",
        "LessWrong",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    "Olsson et al. 2022": Reference(
        "In-context Learning and Induction Heads", "Transformer Circuits Thread", "arXiv:2209.11895"
    ),
    "Ottosson 2020": Reference(
        "A perceptual color space for image processing",
        "Blog post",
        "https://bottosson.github.io/posts/oklab/",
    ),
    "Pearson 1901": Reference(
        "On lines and planes of closest fit to systems of points in space",
        "Philosophical Magazine 2(11)",
        "doi:10.1080/14786440109462720",
    ),
    "Press & Wolf 2017": Reference(
        "Using the Output Embedding to Improve Language Models", "EACL", "arXiv:1608.05859"
    ),
    "Press et al. 2022": Reference(
        "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
        _ICLR,
        "arXiv:2108.12409",
    ),
    "Radford et al. 2018": Reference(
        "Improving Language Understanding by Generative Pre-Training", "OpenAI", ""
    ),
    "Radford et al. 2019": Reference("Language Models are Unsupervised Multitask Learners", "OpenAI", ""),
    "Raffel et al. 2020": Reference(
        "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
        "Journal of Machine Learning Research 21(140)",
        "arXiv:1910.10683",
    ),
    "Riviere et al. 2024": Reference(
        "Gemma 2: Improving Open Language Models at a Practical Size", _PREPRINT, "arXiv:2408.00118"
    ),
    "Sennrich et al. 2016": Reference(
        "Neural Machine Translation of Rare Words with Subword Units", _ACL, "arXiv:1508.07909"
    ),
    "Serrano & Smith 2019": Reference("Is Attention Interpretable?", _ACL, "arXiv:1906.03731"),
    "Shannon 1948": Reference(
        "A Mathematical Theory of Communication",
        "Bell System Technical Journal 27(3)",
        "doi:10.1002/j.1538-7305.1948.tb01338.x",
    ),
    "Shrikumar et al. 2017": Reference(
        "Learning Important Features Through Propagating Activation Differences", _ICML, "arXiv:1704.02685"
    ),
    "Simonyan et al. 2014": Reference(
        "Deep Inside Convolutional Networks: Visualising Image Classification Models and Saliency Maps",
        "ICLR workshop",
        "arXiv:1312.6034",
    ),
    "Song et al. 2020": Reference(
        "MPNet: Masked and Permuted Pre-training for Language Understanding", _NIPS, "arXiv:2004.09297"
    ),
    "Spearman 1904": Reference(
        "The Proof and Measurement of Association between Two Things",
        "The American Journal of Psychology 15(1)",
        "doi:10.2307/1412159",
    ),
    "Su et al. 2021": Reference(
        "RoFormer: Enhanced Transformer with Rotary Position Embedding", _PREPRINT, "arXiv:2104.09864"
    ),
    "Sutskever et al. 2014": Reference(
        "Sequence to Sequence Learning with Neural Networks", _NIPS, "arXiv:1409.3215"
    ),
    "Timkey & van Schijndel 2021": Reference(
        "All Bark and No Bite: Rogue Dimensions in Transformer Language Models Obscure Representational "
        "Quality",
        _EMNLP,
        "arXiv:2109.04404",
    ),
    "Touvron et al. 2023": Reference(
        "LLaMA: Open and Efficient Foundation Language Models", _PREPRINT, "arXiv:2302.13971"
    ),
    "Vaswani et al. 2017": Reference("Attention Is All You Need", _NIPS, "arXiv:1706.03762"),
    "Vig & Belinkov 2019": Reference(
        "Analyzing the Structure of Attention in a Transformer Language Model",
        "BlackboxNLP",
        "arXiv:1906.04284",
    ),
    "Vig et al. 2020": Reference(
        "Investigating Gender Bias in Language Models Using Causal Mediation Analysis",
        _NIPS,
        "arXiv:2004.12265",
    ),
    "Voita et al. 2019": Reference(
        "Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned",
        _ACL,
        "arXiv:1905.09418",
    ),
    "Wagner & Fischer 1974": Reference(
        "The String-to-String Correction Problem", "Journal of the ACM 21(1)", "doi:10.1145/321796.321811"
    ),
    "Wang et al. 2020": Reference(
        "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained Transformers",
        _NIPS,
        "arXiv:2002.10957",
    ),
    "Wang et al. 2023": Reference(
        "Interpretability in the Wild: a Circuit for Indirect Object Identification in GPT-2 Small",
        _ICLR,
        "arXiv:2211.00593",
    ),
    "Wiegreffe & Pinter 2019": Reference("Attention is not not Explanation", _EMNLP, "arXiv:1908.04626"),
    "Wilson 1927": Reference(
        "Probable Inference, the Law of Succession, and Statistical Inference",
        f"{_JASA} 22(158)",
        "doi:10.1080/01621459.1927.10502953",
    ),
    "Wu et al. 2016": Reference(
        "Google’s Neural Machine Translation System: Bridging the Gap between Human and Machine Translation",
        _PREPRINT,
        "arXiv:1609.08144",
    ),
    "Xiao et al. 2024": Reference(
        "Efficient Streaming Language Models with Attention Sinks", _ICLR, "arXiv:2309.17453"
    ),
    "Xiong et al. 2020": Reference(
        "On Layer Normalization in the Transformer Architecture", _ICML, "arXiv:2002.04745"
    ),
    "Yan et al. 2019": Reference(
        "TENER: Adapting Transformer Encoder for Named Entity Recognition", _PREPRINT, "arXiv:1911.04474"
    ),
    "Zeiler & Fergus 2014": Reference(
        "Visualizing and Understanding Convolutional Networks", "ECCV", "arXiv:1311.2901"
    ),
    "Zhang & Sennrich 2019": Reference("Root Mean Square Layer Normalization", _NIPS, "arXiv:1910.07467"),
}
"""By the citation."""


def cited(found: re.Match[str]) -> str:
    """The name in `REFERENCES` that a match of `CITATION` would have: "Abnar and Zuidema (2020)" has "&"."""
    who = " ".join(found["who"].split()).replace(" and ", " & ")
    return f"{who} {found['year'] or found['in_brackets']}"


def cited_markdown(text: str) -> None:
    """Draw Markdown of ours in which each citation is a link to its entry on the page References."""
    st.markdown(CITATION.sub(_link, text))


def _link(found: re.Match[str]) -> str:
    name = cited(found)
    if name not in REFERENCES:
        return found[0]
    return f"[{' '.join(found[0].split())}](references?{urlencode({CITED.name: name})})"


def draw() -> None:
    """Draw the entry that a link requests, and the list."""
    name = CITED.select("Cited as", list(REFERENCES))
    with st.container(border=True):
        st.markdown(_entry(name))
    st.header("All of them", anchor=False)
    st.markdown("\n".join(f"- {_entry(name)}" for name in REFERENCES))


def _entry(name: str) -> str:
    who, year = name.rsplit(" ", 1)
    title, venue, found_at = REFERENCES[name]
    at = f" [{found_at}]({REFERENCES[name].address})" if found_at else ""
    return f"**{who}, {year}.** *{title}*. {venue}.{at}"
