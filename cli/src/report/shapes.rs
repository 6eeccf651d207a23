//! Outlines: rectangles and lines gathered into SVG paths, one path a style.

use super::page::{Shape, Tick, WIDTH};

/// Height of a lane in its own units.
pub(crate) const LANE: f64 = 24.0;

/// Rectangles of several styles.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    shapes: Vec<(&'static str, String)>,
}

impl Outline {
    /// Adds a rectangle.
    pub(crate) fn rect(&mut self, class: &'static str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        let (x, y, w, h) = (short(x), short(y), short(w), short(h));
        self.add(class, &format!("M{x} {y}h{w}v{h}h-{w}z"));
    }

    /// Adds a piece of a path.
    pub(crate) fn add(&mut self, class: &'static str, path: &str) {
        match self.shapes.iter_mut().find(|(name, _)| *name == class) {
            Some((_, text)) => text.push_str(path),
            None => self.shapes.push((class, path.to_owned())),
        }
    }

    /// The paths, in the order in which their styles came first.
    pub(crate) fn shapes(self) -> Vec<Shape> {
        let shapes = self.shapes.into_iter();
        shapes.map(|(class, path)| Shape { class, path }).collect()
    }
}

/// A number with as few digits as a picture needs.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A line through points.
pub(crate) fn line(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        path.push_str(&format!("{letter}{} {}", short(*x), short(*y)));
    }
    path
}

/// Dots: lines of no length, drawn with round ends.
pub(crate) fn dots(points: &[(f64, f64)]) -> String {
    points
        .iter()
        .map(|(x, y)| format!("M{} {}h0", short(*x), short(*y)))
        .collect()
}

/// An axis over a picture's width, or its height: a scale and its marks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    /// Even steps.
    Linear(f64, f64),
    /// Even factors.
    Log(f64, f64),
}

impl Scale {
    /// The share of the way at which a value lies.
    pub(crate) fn share(self, value: f64) -> f64 {
        match self {
            Scale::Linear(low, high) => (value - low) / (high - low),
            Scale::Log(low, high) => (value / low).ln() / (high / low).ln(),
        }
    }

    /// The same in a picture's units.
    pub(crate) fn x(self, value: f64) -> f64 {
        self.share(value) * WIDTH
    }

    /// Round values along the scale: about `count` of an even one; the powers of ten of the other.
    pub(crate) fn round(self, count: usize) -> Vec<f64> {
        match self {
            Scale::Linear(low, high) => {
                let step = round_step((high - low) / count.max(1) as f64);
                let first = (low / step).ceil() as i64;
                let last = (high / step + 1e-9).floor() as i64;
                (first..=last).map(|at| at as f64 * step).collect()
            }
            Scale::Log(low, high) => {
                let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
                (first..=last).map(|power| 10_f64.powi(power)).collect()
            }
        }
    }

    /// Marks at values, named by `name`.
    pub(crate) fn ticks(self, values: &[f64], name: impl Fn(f64) -> String) -> Vec<Tick> {
        values
            .iter()
            .map(|&value| tick(self.share(value), name(value)))
            .collect()
    }
}

/// A mark at a share of the way.
pub(crate) fn tick(share: f64, text: String) -> Tick {
    Tick {
        percent: format!("{:.2}", share * 100.0),
        text,
        class: match share {
            share if share < 0.02 => "first",
            share if share > 0.98 => "last",
            _ => "inner",
        },
    }
}

/// The least of 1, 2 and 5 times a power of ten that is at least as large.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= step * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(Scale::Linear(0.0, 7.3).round(5), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(Scale::Log(3.0, 2000.0).round(0), [10.0, 100.0, 1000.0]);
        assert_eq!(Scale::Log(10.0, 1000.0).share(100.0), 0.5);
        assert_eq!(round_step(0.3), 0.5);
    }

    #[test]
    fn outlines_gather_by_style() {
        let mut outline = Outline::default();
        outline.rect("a", (0.0, 1.5), (10.0, 2.0));
        outline.rect("b", (0.0, 0.0), (1.0, 1.0));
        outline.rect("a", (20.0, 0.0), (1.0, 2.0));
        let shapes = outline.shapes();
        assert_eq!(shapes.len(), 2);
        assert_eq!(shapes[0].path, "M0 1.5h10v2h-10zM20 0h1v2h-1z");
    }
}
