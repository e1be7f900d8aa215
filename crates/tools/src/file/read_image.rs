//! Images as the provider takes them: decoded once to be sure, scaled down, and made small.

use std::io::Cursor;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use serde_json::json;
use troupe_core::block::Block;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::{Effect, Part, Seen};

use super::fingerprint::hash;

/// Largest image file, in bytes.
pub(super) const LARGEST: u64 = 50 * 1024 * 1024;
/// Longest edge of what is sent, in pixels; providers scale larger ones down themselves.
const EDGE: u32 = 1568;
/// Longest edge that is decoded. (Providers refuse edges over 8,000, which scaling rules out.)
const DECODED_EDGE: u32 = 32_768;
/// Most memory for decoding, in bytes.
const DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// Above this many bytes an image is sent as JPEG.
const SMALL: usize = 500 * 1024;

/// An image that a request may hold.
#[derive(Debug)]
pub(super) struct Fit {
    pub media_type: &'static str,
    pub base64: String,
    pub original: (u32, u32),
    pub shown: (u32, u32),
}

/// The image format that a file's first bytes tell, if it is one of the four that can be sent.
pub(super) fn format(head: &[u8]) -> Option<ImageFormat> {
    image::guess_format(head).ok().filter(|format| media_type(*format).is_some())
}

fn media_type(format: ImageFormat) -> Option<&'static str> {
    match format {
        ImageFormat::Png => Some("image/png"),
        ImageFormat::Jpeg => Some("image/jpeg"),
        ImageFormat::Gif => Some("image/gif"),
        ImageFormat::WebP => Some("image/webp"),
        _ => None,
    }
}

/// Reads an image file.
pub(super) fn read(path: &Path, bytes: &[u8], mtime: i128) -> Result<ToolOutput, String> {
    let fit = fit(bytes).map_err(|why| format!("{} can't be shown: {why}", path.display()))?;
    let mut output = ToolOutput {
        content: vec![Block::image(fit.media_type, &fit.base64)],
        data: Some(json!({"type": "image", "file": {
            "base64": fit.base64, "type": fit.media_type, "originalSize": bytes.len(),
            "dimensions": {
                "originalWidth": fit.original.0, "originalHeight": fit.original.1,
                "displayWidth": fit.shown.0, "displayHeight": fit.shown.1,
            },
        }})),
        ..ToolOutput::default()
    };
    if fit.shown != fit.original {
        let ((width, height), (shown_width, shown_height)) = (fit.original, fit.shown);
        output.content.push(Block::text(format!(
            "[Scaled from {width}x{height} to {shown_width}x{shown_height} pixels.]"
        )));
    }
    let seen = Seen { mtime, hash: hash(bytes), part: Part::Whole };
    Ok(output.with_effect(Effect::Saw(path.to_owned(), seen)))
}

/// Makes an image fit for a request.
///
/// # Errors
/// In words: not an image, damaged, or too large to decode.
pub(super) fn fit(bytes: &[u8]) -> Result<Fit, String> {
    let format = format(bytes).ok_or("its content is no PNG, JPEG, GIF or WebP image")?;
    if format == ImageFormat::Jpeg && !jpeg_ends(bytes) {
        return Err("the JPEG image is cut off".into());
    }
    let image = decode(bytes, format)?;
    let original = (image.width(), image.height());
    if original.0.max(original.1) <= EDGE && bytes.len() <= SMALL {
        let media_type = media_type(format).unwrap_or("image/png");
        return Ok(Fit { media_type, base64: BASE64.encode(bytes), original, shown: original });
    }
    let image = if original.0.max(original.1) > EDGE { image.thumbnail(EDGE, EDGE) } else { image };
    let shown = (image.width(), image.height());
    let failed = |error: image::ImageError| format!("it could not be made smaller: {error}");
    let mut encoded = Vec::new();
    let mut media_type = "image/png";
    if format == ImageFormat::Jpeg {
        encoded = jpeg(&image, 85).map_err(failed)?;
        media_type = "image/jpeg";
    } else {
        image.write_to(&mut Cursor::new(&mut encoded), ImageFormat::Png).map_err(failed)?;
    }
    for quality in [85, 60, 30] {
        if encoded.len() <= SMALL {
            break;
        }
        encoded = jpeg(&image, quality).map_err(failed)?;
        media_type = "image/jpeg";
    }
    Ok(Fit { media_type, base64: BASE64.encode(&encoded), original, shown })
}

fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, String> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(DECODED_EDGE);
    limits.max_image_height = Some(DECODED_EDGE);
    limits.max_alloc = Some(DECODED_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| format!("the image is damaged or too large ({error})"))?;
    if image.width() == 0 || image.height() == 0 {
        return Err("the image has no pixels".into());
    }
    Ok(image)
}

/// As JPEG, which knows no transparency: on white.
fn jpeg(image: &DynamicImage, quality: u8) -> Result<Vec<u8>, image::ImageError> {
    let mut rgb = image.to_rgb8();
    if image.color().has_alpha() {
        for (flat, pixel) in rgb.pixels_mut().zip(image.to_rgba8().pixels()) {
            let alpha = u16::from(pixel[3]);
            for channel in 0..3 {
                let mixed = (u16::from(pixel[channel]) * alpha + 255 * (255 - alpha)) / 255;
                flat[channel] = u8::try_from(mixed).unwrap_or(u8::MAX);
            }
        }
    }
    let mut encoded = Vec::new();
    JpegEncoder::new_with_quality(&mut encoded, quality).encode_image(&rgb)?;
    Ok(encoded)
}

/// Whether the scan of a JPEG comes to its end mark; decoders fill what is missing with grey.
fn jpeg_ends(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        match bytes.get(at..at + 4) {
            // The start of the scan: segments with a length are over.
            Some([0xff, 0xda, ..]) => return memchr::memmem::find(&bytes[at..], b"\xff\xd9").is_some(),
            Some([0xff, 0xff, ..]) => at += 1,
            Some([0xff, _, high, low]) => at += 2 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return false,
        }
    }
}

#[cfg(test)]
#[path = "read_image_tests.rs"]
mod tests;
