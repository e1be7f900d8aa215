//! Images that a request may hold, and those that it may not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use image::{Rgba, RgbaImage};

use super::*;

fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgba(state.to_be_bytes())
    }))
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    let image = if format == ImageFormat::Jpeg { &DynamicImage::ImageRgb8(image.to_rgb8()) } else { image };
    image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

/// What is sent: its real format and size.
fn sent(fit: &Fit) -> (ImageFormat, (u32, u32), usize) {
    let bytes = BASE64.decode(&fit.base64).unwrap();
    let format = format(&bytes).unwrap();
    let image = decode(&bytes, format).unwrap();
    (format, (image.width(), image.height()), bytes.len())
}

// proves: F222
#[test]
fn a_small_image_goes_as_it_is_under_its_true_type() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = encoded(&noise(20, 10), format);
        let fit = fit(&bytes).unwrap();
        assert_eq!(BASE64.decode(&fit.base64).unwrap(), bytes);
        assert_eq!((Some(fit.media_type), fit.shown), (media_type(format), (20, 10)));
    }
}

// proves: F222
#[test]
fn a_large_image_is_scaled_down_and_made_small() {
    let long = fit(&encoded(&DynamicImage::new_rgba8(9000, 10), ImageFormat::Png)).unwrap();
    assert_eq!((sent(&long).1, long.original), ((1568, 2), (9000, 10)));
    let wide = fit(&encoded(&noise(2162, 322), ImageFormat::Png)).unwrap();
    let (format, (width, _), size) = sent(&wide);
    assert_eq!((format, width, wide.media_type), (ImageFormat::Jpeg, 1568, "image/jpeg"));
    assert!(size <= SMALL, "{size}");
}

// proves: F222
#[test]
fn a_damaged_image_is_an_error_and_no_block() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = encoded(&noise(64, 64), format);
        for part in [16, bytes.len() / 2, bytes.len() * 9 / 10] {
            assert!(fit(&bytes[..part]).is_err(), "{format:?} cut to {part} of {}", bytes.len());
        }
    }
    assert!(fit(b"no image").unwrap_err().contains("no PNG"));
}

#[test]
fn a_picture_that_would_fill_the_memory_is_refused() {
    // A PNG head that promises 30,000 x 30,000 pixels.
    let mut bytes = encoded(&noise(1, 1), ImageFormat::Png);
    bytes[16..24].copy_from_slice(&[0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30]);
    assert!(fit(&bytes).is_err());
}
