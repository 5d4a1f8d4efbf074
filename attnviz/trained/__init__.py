"""Our own small models: their language, training, weights and figures."""
