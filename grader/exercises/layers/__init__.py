"""What the exercises on the encoder and the decoder share: steps, mistakes, scenarios."""
