"""Steps, mistakes and scenarios that the exercises on the encoder and the decoder share."""
