//! `fa-gen report`: what is known about a kernel, as one page. Each module makes one picture out of the plan, of launches
//! on the emulator, or of results; `page` holds them as plain structs and prints them.

mod advice;
mod checks;
mod choice;
mod lengths;
mod memory;
mod numerics;
mod page;
mod pairs;
mod pipeline;
mod roofline;
mod shapes;
mod sides;
mod study;
mod text;
mod tiles;
mod timing;
mod trace;
mod unfused;
mod utilisation;
mod whatif;
mod words;

pub(crate) use choice::ShapeChoice;
pub(crate) use page::{Page, Section, render};
pub(crate) use study::Study;
pub(crate) use words::timeline_text;
