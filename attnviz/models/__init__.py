"""The available models: names, folders, the hub, the list of allowed models, configs and tokenizers."""
