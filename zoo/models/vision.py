"""An encoder of images: what an image shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from zoo.models.transformer import Model, given, inside_attention

if TYPE_CHECKING:
    from zoo.models.builder import Parts


class PatchEmbedding(nn.Module):
    """Square patches of an image, each flattened and mapped to a vector; a learned class token in front, if any.

    [x_class; x_p^1 E; ...; x_p^N E], E of P^2 C x D: Dosovitskiy et al. 2020, section 3.1, equation 1,
    arXiv:2010.11929. Positions are added by the positional encoding.
    """

    def __init__(
        self, d_model: int, image_size: int, patch_size: int, channels: int, class_token: bool
    ) -> None:
        """
        Args:
            d_model: width D.
            image_size: height and width of an image, in pixels.
            patch_size: height and width P of a patch.
            channels: C, 3 for colours.
            class_token: whether a learned vector stands in front of the patches.

        Raises:
            ValueError: patches do not divide the image.
        """
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"image_size={image_size} is not divisible by patch_size={patch_size}.")
        self.shape, self.patch_size = (channels, image_size, image_size), patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)
        self.class_token = nn.Parameter(torch.empty(d_model).normal_(std=0.02)) if class_token else None

    def forward(self, images: Tensor) -> Tensor:
        """images [B, C, H, W] -> [B, N, D], or [B, 1 + N, D] with a class token; row by row of patches.

        Raises ValueError for images of another size.
        """
        if tuple(images.shape[1:]) != self.shape:
            raise ValueError(f"Expected images {list(self.shape)}, got {list(images.shape[1:])}.")
        p = self.patch_size
        patches = images.unfold(2, p, p).unfold(3, p, p)  # [B, C, H, W] -> [B, C, H/p, W/p, p, p]
        patches = patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)  # [B, H/p * W/p, C * p * p]
        x: Tensor = self.projection(patches)
        if self.class_token is None:
            return x
        return torch.cat([self.class_token.expand(len(x), 1, -1), x], dim=1)  # [B, N, D] -> [B, 1 + N, D]


class VisionEncoder(Model):
    """From images to scores of their classes (ViT): Dosovitskiy et al. 2020, section 3.1, arXiv:2010.11929.

    Patches take the place of tokens, and every one sees all others. The head reads the class token, or the mean of
    all patches (Beyer et al. 2022, arXiv:2205.01580). Scores are over `tgt_vocab`, the classes.
    """

    stacks = ("encoder",)
    reads = "images"

    def __init__(
        self,
        parts: Parts,
        image_size: int = 32,
        patch_size: int = 16,
        channels: int = 3,
        pool: str = "class-token",
    ) -> None:
        """
        Args:
            parts: makes what is asked of it, in the order in which it is asked.
            image_size, patch_size, channels: as in `PatchEmbedding`.
            pool: what the head reads: class-token, or mean.
        """
        super().__init__(parts)
        width = parts.sizes.d_model
        self.embeddings: PatchEmbedding = PatchEmbedding(  # type: ignore[assignment]
            width, image_size, patch_size, channels, pool == "class-token"
        )
        self.src_positions = parts.positions()
        self.encoder = parts.encoder()
        self.head = parts.head(self.embeddings)  # type: ignore[arg-type]

    def forward(self, images: Tensor) -> Tensor:
        """images [B, C, H, W] -> [B, 1, V]: one position, with the scores of the classes."""
        x = self.encode(images)
        pooled = x.mean(1, keepdim=True) if self.embeddings.class_token is None else x[:, :1]
        return self.head(pooled)  # type: ignore[no-any-return]

    def encode(self, images: Tensor) -> Tensor:
        """images [B, C, H, W] -> hidden vectors of the patches, the class token first: [B, S, D]."""
        x = self.dropout(self.src_positions(self.embeddings(images)))
        positions = inside_attention(self.src_positions, x.size(1), x.size(1), x)
        return self.encoder(x, None, **given(positions=positions))  # type: ignore[no-any-return]

    def stand_in(self, tokens: Tensor) -> Tensor:
        """Images of random numbers, as many as there are rows of `tokens` [B, S]: [B, C, H, W]."""
        generator = torch.Generator().manual_seed(int(tokens.sum()))
        images = torch.randn(len(tokens), *self.embeddings.shape, generator=generator)
        return images.to(tokens.device, self.embeddings.projection.weight.dtype)
