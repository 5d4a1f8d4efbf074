"""The report against BertViz's model_view: the same 6 × 12 heads as one HTML file each.

The numbers are those of the bundled BERT. Ours is the whole file that `python -m attnviz report` writes, code
and all; BertViz's asks a CDN for its libraries, which come from this machine and are not counted. The clock
runs from the start of loading until all heads are on the screen.

Run: python -m benchmarks.report_size [tokens ...] [--smoke]
"""

from __future__ import annotations

import statistics
from pathlib import Path

from attnviz.capture import loading
from attnviz.export.report import page
from benchmarks.all_heads import LONGEST_MS, ON_SCREEN, Rival, bertviz, draw, measure
from benchmarks.report import Report
from benchmarks.texts import text_of

LIMITS = {16: 1e6, 128: 4e6}  # tokens: the most bytes of a report
BERTVIZ_ROUNDS = {128: 2}  # it takes too long for more

# The report's policy lets no script in, so the clock is wound up before it.
WATCH = f"""
new MutationObserver((_, observer) => {{
    if (!document.documentElement?.dataset.drawn) return;
    observer.disconnect();
    {ON_SCREEN};
}}).observe(document, {{ attributes: true, subtree: true }});
"""


def compare(report: Report, folder: Path, tokens: int, rounds: int) -> None:
    """Make both pages for a text of this length, draw them in turns, and print what they cost."""
    trace = loading.load("minilm").trace(text_of(tokens))
    weights = trace.stack("encoder")
    (folder / "report.html").write_text(page.report(trace), "utf-8")
    cells = "document.querySelector('.all > div').shadowRoot.querySelectorAll('.grid button').length"
    heads = weights.shape[0] * weights.shape[1]
    ours = Rival("attnviz report", (folder / "report.html").stat().st_size, "report.html", cells, heads)
    theirs = bertviz(folder, weights, [token.text for token in trace.blocks[0].query_tokens])
    times: dict[Rival, list[float]] = {ours: [], theirs: []}
    for number in range(rounds):
        for rival, took in times.items():
            if rival is ours or number < BERTVIZ_ROUNDS.get(tokens, rounds):
                drawn = draw(rival, folder, WATCH if rival is ours else "")
                took.append(LONGEST_MS if drawn is None else drawn.total)
    report.section(f"{tokens} tokens, {weights.shape[0]} × {weights.shape[1]} heads")
    medians = {rival: statistics.median(took) for rival, took in times.items()}
    for rival, median in medians.items():
        limit = LIMITS.get(tokens) if rival is ours else None
        report.row(
            f"{rival.name} ({len(times[rival])} times)",
            f"{rival.size / 1e6:8.3f} MB {median:9.0f} ms",
            f"≤ {limit / 1e6:g} MB" if limit else "",
            met=rival.size <= limit if limit else None,
        )
    report.row("bytes: BertViz / attnviz", f"{theirs.size / ours.size:.1f} ×")
    report.row("time: BertViz / attnviz", f"{medians[theirs] / medians[ours]:.1f} ×")


if __name__ == "__main__":
    measure("A report as one file", __doc__, tuple(LIMITS), compare)
