"""The translator: vocabulary, grammar, training and evaluation."""
