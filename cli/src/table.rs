//! Plain tables: columns as wide as their widest cell, numbers to the right.

/// Rows under a head.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    numeric: Vec<bool>,
}

impl Table {
    /// A table with these column heads; one that starts with `>` is a column of numbers.
    pub(crate) fn new(heads: &[&str]) -> Table {
        Table {
            rows: vec![
                heads
                    .iter()
                    .map(|head| head.trim_start_matches('>').to_owned())
                    .collect(),
            ],
            numeric: heads.iter().map(|head| head.starts_with('>')).collect(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.numeric.len(), String::new());
        self.rows.push(cells);
    }

    /// The text, each line ending in a newline.
    pub(crate) fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.numeric.len())
            .map(|column| {
                let lengths = self.rows.iter().map(|row| row[column].chars().count());
                lengths.max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .zip(&self.numeric)
                .map(|((cell, width), numeric)| {
                    if *numeric {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Bytes as KiB with two digits.
pub(crate) fn kib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1024.0)
}
