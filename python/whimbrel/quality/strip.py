"""Decoded pictures side by side: one row per variant, one column per moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from whimbrel._base import extras
from whimbrel.errors import MediaError
from whimbrel.quality.frames import Frames

_GAP = 6
_LABEL_HEIGHT = 24
_TEXT_SIZE = 15
_PAPER = (250, 250, 248)
_INK = (40, 44, 52)


def write_strip(
    path: Path, variants: Mapping[str, Frames], frames: Sequence[int], *, picture_width: int = 320
) -> None:
    """Writes a PNG with the chosen frames of every variant.

    Args:
        path: the `.png` file to write.
        variants: label to pictures, top to bottom; all of one size. The same input produces the same bytes.
        frames: frame numbers, left to right.
        picture_width: width of each picture in pixels.

    Raises:
        MediaError: nothing to show, pictures of several sizes, or a frame number out of range.
    """
    Image, ImageDraw, ImageFont = (
        extras.load(f"PIL.{name}", "video", "a strip of pictures")
        for name in ("Image", "ImageDraw", "ImageFont")
    )
    if not variants or not frames:
        raise MediaError("a strip needs at least one variant and one frame")
    sizes = {(each.width, each.height) for each in variants.values()}
    if len(sizes) > 1:
        raise MediaError(f"a strip shows pictures of one size, not of {sorted(sizes)}")
    ((width, height),) = sizes
    for label, each in variants.items():
        for frame in frames:
            if not 0 <= frame < len(each):
                raise MediaError(f"{label} has no frame {frame}: it has {len(each)}")
    picture_height = round(height * picture_width / width)
    row_height = _LABEL_HEIGHT + picture_height + _GAP
    sheet = Image.new(
        "RGB",
        (_GAP + len(frames) * (picture_width + _GAP), _GAP + len(variants) * row_height),
        _PAPER,
    )
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_TEXT_SIZE)
    for row, (label, each) in enumerate(variants.items()):
        top = _GAP + row * row_height
        for column, frame in enumerate(frames):
            left = _GAP + column * (picture_width + _GAP)
            seconds = f"{float(frame / each.rate):.2f} s"
            draw.text((left, top), f"{label}, {seconds}" if column == 0 else seconds, fill=_INK, font=font)
            picture = Image.fromarray(each.rgb(frame)).resize(
                (picture_width, picture_height), Image.Resampling.LANCZOS
            )
            sheet.paste(picture, (left, top + _LABEL_HEIGHT))
    sheet.save(path, format="PNG", optimize=True)


def telling_frames(scores: Mapping[str, Sequence[float]], count: int = 4) -> list[int]:
    """The moments at which the variants differ most, ascending and apart from each other.

    Args:
        scores: a score of every frame by variant, such as the PSNR.
        count: largest number of moments.
    """
    series = list(scores.values())
    length = min(map(len, series))
    spread = [max(each[k] for each in series) - min(each[k] for each in series) for k in range(length)]
    apart = max(1, length // (2 * count))
    chosen: list[int] = []
    for frame in sorted(range(length), key=lambda k: (-spread[k], k)):
        if all(abs(frame - other) >= apart for other in chosen):
            chosen.append(frame)
        if len(chosen) == count:
            break
    return sorted(chosen)
