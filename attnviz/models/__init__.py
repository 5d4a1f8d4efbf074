"""Which model: names, folders, the hub, the list of allowed models, configurations, tokenizers."""
