//! The page as data: plain structs that `templates/report` prints. Every number is text with its unit, every place in a
//! picture a number of the picture's own scale; templates decide nothing.

use serde::Serialize;
use tera::{Context, Tera};

/// Width of every picture in its own units; it is stretched to the width of the page.
pub(crate) const WIDTH: f64 = 1000.0;

/// The whole page.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    /// The title.
    pub(crate) title: String,
    /// What was read, and by which version.
    pub(crate) provenance: String,
    /// What the figures are, in a sentence.
    pub(crate) label: String,
    /// One per variant and target.
    pub(crate) sections: Vec<Section>,
}

/// A variant on a target.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// Name of the anchor.
    pub(crate) id: String,
    /// The variant.
    pub(crate) variant: String,
    /// The target.
    pub(crate) target: String,
    /// Shape, types and tile.
    pub(crate) subtitle: String,
    /// The figures that matter most.
    pub(crate) facts: Vec<Fact>,
    /// The pictures.
    pub(crate) figures: Vec<Figure>,
    /// Parts that say nothing about this target, and why.
    pub(crate) absent: Vec<Absent>,
}

/// A large number.
#[derive(Debug, Serialize)]
pub(crate) struct Fact {
    /// What it is.
    pub(crate) name: String,
    /// The number.
    pub(crate) value: String,
    /// Its unit.
    pub(crate) unit: String,
    /// What it is measured by.
    pub(crate) note: String,
}

/// A part that does not apply.
#[derive(Debug, Serialize)]
pub(crate) struct Absent {
    /// The part.
    pub(crate) title: String,
    /// Why.
    pub(crate) reason: String,
}

/// One picture with its words and numbers.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figure {
    /// Name of the anchor, unique on the page.
    pub(crate) id: String,
    /// The headline.
    pub(crate) title: String,
    /// How the numbers came about: `from the plan`, `modelled, emulated`, `measured`.
    pub(crate) origin: String,
    /// What to see, in a sentence or two.
    pub(crate) caption: String,
    /// The same for those who cannot see the picture.
    pub(crate) alternative: String,
    /// What the colours and patterns mean.
    pub(crate) legend: Vec<Key>,
    /// Rows of rectangles over a shared axis.
    pub(crate) lanes: Vec<LaneGroup>,
    /// Curves.
    pub(crate) chart: Option<Chart>,
    /// Squares.
    pub(crate) grid: Option<Grid>,
    /// Verdicts.
    pub(crate) checks: Vec<Check>,
    /// Tables that stay open.
    pub(crate) tables: Vec<TableView>,
    /// The numbers behind the picture, folded away.
    pub(crate) numbers: Vec<TableView>,
    /// Further remarks.
    pub(crate) notes: Vec<Prose>,
}

/// A sentence with code in it.
#[derive(Debug, Serialize)]
pub(crate) struct Prose {
    /// Its pieces, in order.
    pub(crate) pieces: Vec<Piece>,
}

/// Words, or code.
#[derive(Debug, Serialize)]
pub(crate) struct Piece {
    /// The words.
    pub(crate) text: String,
    /// Whether they are code.
    pub(crate) code: bool,
}

impl Prose {
    /// A sentence whose code stands in backticks.
    pub(crate) fn new(text: &str) -> Prose {
        let pieces = text.split('`').enumerate().map(|(at, text)| Piece {
            text: text.to_owned(),
            code: at % 2 == 1,
        });
        Prose {
            pieces: pieces.filter(|piece| !piece.text.is_empty()).collect(),
        }
    }
}

/// An entry of a legend.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Key {
    /// Style class of the swatch.
    pub(crate) class: &'static str,
    /// What it stands for.
    pub(crate) text: String,
}

/// Lanes under a heading.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LaneGroup {
    /// The heading.
    pub(crate) title: String,
    /// Beside the heading.
    pub(crate) note: String,
    /// Style class of the group: `thin` for many lanes.
    pub(crate) class: &'static str,
    /// The lanes.
    pub(crate) lanes: Vec<Lane>,
    /// The axis below.
    pub(crate) axis: Vec<Tick>,
    /// What the axis counts.
    pub(crate) axis_title: String,
}

/// One row.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Lane {
    /// Its name.
    pub(crate) label: String,
    /// A second line of the name.
    pub(crate) detail: String,
    /// The number at its end.
    pub(crate) value: String,
    /// The same in words.
    pub(crate) alternative: String,
    /// Rectangles of each style, as one outline.
    pub(crate) shapes: Vec<Shape>,
}

/// Rectangles of one style.
#[derive(Debug, Serialize)]
pub(crate) struct Shape {
    /// The style.
    pub(crate) class: &'static str,
    /// An SVG path.
    pub(crate) path: String,
}

/// A mark of an axis.
#[derive(Debug, Serialize)]
pub(crate) struct Tick {
    /// Percent of the way.
    pub(crate) percent: String,
    /// The label.
    pub(crate) text: String,
    /// Style class: `first`, `last` or `inner`, so that labels stay inside.
    pub(crate) class: &'static str,
}

/// Curves over two axes.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Chart {
    /// Marks of the horizontal axis.
    pub(crate) x: Vec<Tick>,
    /// What it counts.
    pub(crate) x_title: String,
    /// Marks of the vertical axis, percent from the top.
    pub(crate) y: Vec<Tick>,
    /// What it counts.
    pub(crate) y_title: String,
    /// Grid lines, one path.
    pub(crate) grid: String,
    /// The curves.
    pub(crate) curves: Vec<Shape>,
    /// Names inside the plot.
    pub(crate) labels: Vec<Label>,
}

/// A name inside a plot.
#[derive(Debug, Serialize)]
pub(crate) struct Label {
    /// Percent from the left.
    pub(crate) left: String,
    /// Percent from the top.
    pub(crate) top: String,
    /// The name.
    pub(crate) text: String,
    /// Style class.
    pub(crate) class: &'static str,
}

/// Squares in rows.
#[derive(Debug, Serialize)]
pub(crate) struct Grid {
    /// Squares across.
    pub(crate) columns: usize,
    /// Squares down.
    pub(crate) rows: usize,
    /// Squares of each style.
    pub(crate) shapes: Vec<Shape>,
    /// Name of the horizontal axis.
    pub(crate) x_title: String,
    /// Name of the vertical axis.
    pub(crate) y_title: String,
}

/// A verdict.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// The code.
    pub(crate) code: String,
    /// The mistake.
    pub(crate) name: String,
    /// Style class: `pass`, `warn` or `skip`.
    pub(crate) class: &'static str,
    /// A sign beside the word.
    pub(crate) sign: &'static str,
    /// The word.
    pub(crate) verdict: String,
    /// The numbers behind it.
    pub(crate) numbers: String,
    /// What to type, where there is something to do.
    pub(crate) help: Option<Prose>,
}

/// A table.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TableView {
    /// What it lists.
    pub(crate) caption: String,
    /// Heads of the columns.
    pub(crate) heads: Vec<Cell>,
    /// The rows.
    pub(crate) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Style class: `total`, `strong` or nothing.
    pub(crate) class: &'static str,
    /// Its cells.
    pub(crate) cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    /// Its text.
    pub(crate) text: String,
    /// Style class: `number` or `text`.
    pub(crate) class: &'static str,
}

impl TableView {
    /// A table with these column heads; one that starts with `>` is a column of numbers.
    pub(crate) fn new(caption: &str, heads: &[&str]) -> TableView {
        TableView {
            caption: caption.to_owned(),
            heads: heads
                .iter()
                .map(|head| Cell {
                    text: head.trim_start_matches('>').to_owned(),
                    class: class_of(head.starts_with('>')),
                })
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, aligned as the heads are.
    pub(crate) fn row(&mut self, class: &'static str, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().zip(&self.heads).map(|(text, head)| Cell {
            text,
            class: head.class,
        });
        self.rows.push(Row {
            class,
            cells: cells.collect(),
        });
    }
}

fn class_of(numeric: bool) -> &'static str {
    if numeric { "number" } else { "text" }
}

impl Key {
    /// An entry.
    pub(crate) fn new(class: &'static str, text: impl Into<String>) -> Key {
        Key {
            class,
            text: text.into(),
        }
    }
}

/// Parts of the page; names end in `.html`, so that what they print is escaped.
const TEMPLATES: [(&str, &str); 4] = [
    (
        "page.html",
        include_str!("../../../templates/report/page.html.tera"),
    ),
    (
        "figure.html",
        include_str!("../../../templates/report/figure.html.tera"),
    ),
    (
        "table.html",
        include_str!("../../../templates/report/table.html.tera"),
    ),
    (
        "style.css",
        include_str!("../../../templates/report/style.css.tera"),
    ),
];

/// The page as text: one file that asks for no other.
pub(crate) fn render(page: &Page) -> String {
    let mut tera = Tera::default();
    tera.add_raw_templates(TEMPLATES)
        .expect("the templates are part of the program and are tested");
    let context = Context::from_serialize(page).expect("views are plain structs");
    tera.render("page.html", &context)
        .expect("the view has every field")
}
