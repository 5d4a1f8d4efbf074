"""The bundled small models: grammars, training, weights and results."""
