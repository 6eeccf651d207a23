//! `fa-gen report` and the timeline of `explain`: the page stands alone, holds the plan's numbers, and shows its
//! pictures in a browser on a phone and on a wide screen.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use common::Folder;
use serde_json::Value;

/// A causal variant, small enough to be launched often.
const CAUSAL: &str =
    "attention causal { head_dim = 64; precision = mixed; mask = causal; allow = [FA103]; }\n";

const SHAPE: [&str; 6] = ["--heads", "12", "--q-len", "512", "--kv-len", "2048"];

/// The page of the variant for both targets, what the command said about it, and the plans.
struct Reported {
    html: String,
    sections: Value,
    plans: Value,
}

fn reported() -> &'static Reported {
    static REPORTED: OnceLock<Reported> = OnceLock::new();
    REPORTED.get_or_init(|| {
        let folder = Folder::with("causal.fa", CAUSAL);
        let targets = [
            "--target",
            "ascend910b",
            "--target",
            "cpu",
            "--format",
            "json",
        ];
        let report = ["report", "causal.fa", "-o", "out/page.html"];
        let run = folder.run(&[&report[..], &targets, &SHAPE].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
        let said = run.json();
        assert_eq!(said["report"], "out/page.html");
        let lengths = &SHAPE[2..];
        let run = folder.run(&[&["explain", "causal.fa"][..], &targets, lengths].concat());
        Reported {
            html: fs_err::read_to_string(folder.path().join("out/page.html")).expect("a page"),
            sections: said["sections"].clone(),
            plans: run.json()["plans"].clone(),
        }
    })
}

/// A figure of a section, by the end of its id.
fn figure<'r>(section: &'r Value, name: &str) -> &'r Value {
    let figures = section["figures"].as_array().expect("figures");
    figures
        .iter()
        .find(|figure| figure["id"].as_str().is_some_and(|id| id.ends_with(name)))
        .unwrap_or_else(|| panic!("no figure {name}"))
}

fn strings(value: &Value) -> Vec<String> {
    let text = |cell: &Value| cell["text"].as_str().unwrap_or_default().to_owned();
    let cells = value["cells"].as_array().expect("cells");
    cells.iter().map(text).collect()
}

fn kib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1024.0)
}

/// Name and size of every buffer of a plan's budget, in order.
fn buffers(plan: &Value) -> Vec<(String, String)> {
    let memories = plan["budget"]["memories"].as_array().expect("memories");
    let buffers = memories
        .iter()
        .flat_map(|memory| memory["buffers"].as_array().expect("buffers"));
    buffers
        .map(|buffer| {
            let number = |field: &str| buffer[field].as_u64().expect("a number");
            let size = kib(number("copies") * number("copy_bytes"));
            (buffer["name"].as_str().expect("a name").to_owned(), size)
        })
        .collect()
}

#[test]
fn the_page_stands_alone() {
    let html = &reported().html;
    for outside in [
        "http:", "https:", "src=", "url(", "<link", "<script", "@import",
    ] {
        assert!(!html.contains(outside), "the page asks for {outside}");
    }
    assert!(
        !html.contains("NaN") && !html.contains("inf\""),
        "a number is none"
    );
    assert!(html.contains("modelled, emulated"));
}

#[test]
fn numbers_are_those_of_the_plan() {
    let reported = reported();
    for (at, plan) in reported.plans.as_array().expect("plans").iter().enumerate() {
        let section = &reported.sections[at];
        assert_eq!(section["target"], plan["target"]);
        let table = &figure(section, "-budget")["numbers"][0];
        let rows: Vec<Vec<String>> = table["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(strings)
            .collect();
        let own = rows.iter().filter(|row| !row[1].starts_with("total"));
        let shown: Vec<(String, String)> =
            own.map(|row| (row[1].clone(), row[7].clone())).collect();
        let planned = buffers(plan);
        assert!(shown.starts_with(&planned), "{shown:?}\n{planned:?}");
        for memory in plan["budget"]["memories"].as_array().expect("memories") {
            let capacity = memory["capacity_bytes"].as_u64().expect("a number");
            let total = format!("total of {}", kib(capacity));
            assert!(rows.iter().any(|row| row[1] == total), "{total}");
        }
        let tiles = &plan["mask_tiles"];
        let counts = format!(
            "{} full, {} partial, {} empty",
            tiles["full"], tiles["partial"], tiles["empty"]
        );
        let caption = figure(section, "-tiles")["caption"].as_str();
        assert!(
            caption.is_some_and(|text| text.contains(&counts)),
            "{counts}"
        );
        let tile = &plan["tile"];
        let size = format!("tile {} × {}", tile["block_q"], tile["block_kv"]);
        let subtitle = section["subtitle"].as_str();
        assert!(subtitle.is_some_and(|text| text.contains(&size)), "{size}");
    }
}

#[test]
fn every_check_has_a_verdict() {
    for section in reported().sections.as_array().expect("sections") {
        let checks = figure(section, "-checks")["checks"]
            .as_array()
            .expect("checks");
        let found: Vec<(&str, &str)> = checks
            .iter()
            .map(|check| {
                let text = |field: &str| check[field].as_str().unwrap_or_default();
                (text("code"), text("verdict"))
            })
            .collect();
        let last = if section["target"] == "cpu" {
            "does not apply"
        } else {
            "fine"
        };
        let expected = [
            ("FA101", "fits"),
            ("FA102", "fine"),
            ("FA103", "silenced by `allow`"),
            ("FA104", "does not apply"),
            ("FA105", last),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn time_adds_up() {
    let reported = reported();
    let ascend = &reported.sections[0];
    // Pipes cannot work longer than the launch takes, and the longest chain of causes is the whole of it.
    let groups = figure(ascend, "-utilisation")["lanes"]
        .as_array()
        .expect("groups");
    let percents = |group: &Value| -> Vec<f64> {
        let lanes = group["lanes"].as_array().expect("lanes");
        let value = |lane: &Value| {
            let text = lane["value"].as_str().expect("a number").replace(" %", "");
            text.parse::<f64>().expect("a number")
        };
        lanes.iter().map(value).collect()
    };
    for group in &groups[..2] {
        assert!(
            percents(group)
                .iter()
                .all(|share| (0.0..=100.0).contains(share))
        );
        assert!(percents(group).iter().any(|share| *share > 10.0));
    }
    let chain: f64 = percents(&groups[2]).iter().sum();
    assert!((97.0..=102.0).contains(&chain), "{chain}");
    // Something twice as fast never makes a launch much slower, and something makes it quicker.
    let advice = &figure(ascend, "-advice")["lanes"][0];
    assert!(percents(advice)[0] > 1.0);
    let rows = figure(ascend, "-advice")["tables"][0]["rows"]
        .as_array()
        .expect("rows");
    assert!(rows.len() >= 4, "{rows:?}");
    let points = figure(ascend, "-lengths")["numbers"][0]["rows"]
        .as_array()
        .expect("rows");
    let lengths: Vec<String> = points.iter().map(|row| strings(row)[0].clone()).collect();
    assert_eq!(lengths.len(), 7, "{lengths:?}");
    assert_eq!(strings(&points[0])[2], "emulated");
    assert_eq!(strings(&points[0])[4], "emulated", "unfused kernels");
    assert_eq!(strings(&points[6])[2], "slope");
    let absent = reported.sections[1]["absent"].as_array().expect("a list");
    assert_eq!(absent.len(), 5, "what a CPU has no model of");
}

#[test]
fn errors_of_launches_are_within_their_bounds() {
    for section in reported().sections.as_array().expect("sections") {
        let rows = figure(section, "-numerics")["numbers"][0]["rows"]
            .as_array()
            .expect("rows");
        assert!(rows.len() >= 3);
        for row in rows {
            assert_eq!(strings(row)[6], "within", "{row}");
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::with("causal.fa", CAUSAL);
    let run = folder.run(&["report", "causal.fa", "--target", "cpu", "--heads", "0"]);
    assert_eq!(run.code, 2);
    let wide = [
        "report",
        "causal.fa",
        "--target",
        "cpu",
        "--shape",
        "1x2x64x128",
    ];
    let run = folder.run(&wide);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("head_dim of 128"), "{}", run.stderr);
    let run = folder.run(&["report", "causal.fa", "--target", "nonesuch"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("FA202"), "{}", run.stderr);
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn explain_draws_a_timeline_where_asked() {
    let folder = Folder::with("causal.fa", CAUSAL);
    let file = ["explain", "causal.fa", "--timeline"];
    let lengths = ["--q-len", "256", "--kv-len", "2048"];
    let run = folder.run(&[&file[..], &["--target", "ascend910b"], &lengths].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in [
        "modelled, emulated",
        "2 tiles of the steady state",
        "  AIC M    ",
        "  AIV V    ",
        "utilisation\n",
        "what binds\n",
        "twice as fast",
    ] {
        assert!(run.stdout.contains(part), "no {part:?} in\n{}", run.stdout);
    }
    let run = folder.run(&[&file[..], &["--target", "cpu"]].concat());
    assert!(run.stdout.contains("no timeline"), "{}", run.stdout);
}

/// Widths of a phone and of a wide screen.
const WIDTHS: [u32; 2] = [360, 1400];

/// Looks at the page in frames of those widths.
const LOOK: &str = r#"
const look = (frame) => {
  const page = frame.contentDocument, root = page.documentElement;
  const boxes = [...page.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect());
  const shapes = [...page.querySelectorAll('svg path')].filter((path) => !path.matches('.dot-a, .dot-b'));
  const outside = [...page.querySelectorAll('body *')].filter((element) => {
    if (element.closest('.table, .hidden, svg')) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.right > root.clientWidth + 1;
  });
  const lanes = [...page.querySelectorAll('.memory .lane')].map((lane) =>
    [lane.querySelector('b').textContent, lane.querySelector('.number').textContent]);
  const overlaps = [...page.querySelectorAll('.axis div, .chart .x')].filter((axis) => {
    const boxes = [...axis.children].map((tick) => tick.getBoundingClientRect());
    return boxes.some((box, at) => at > 0 && box.left < boxes[at - 1].right);
  });
  return {
    pictures: boxes.length,
    flat: boxes.filter((box) => box.width < 20 || box.height < 5).length,
    shapes: shapes.length,
    empty: shapes.filter((path) => { const box = path.getBBox(); return box.width + box.height <= 0; }).length,
    unnamed: [...page.querySelectorAll('svg')].filter((svg) => !svg.getAttribute('aria-label')).length,
    wide: root.scrollWidth - root.clientWidth,
    outside: outside.map((element) => element.className + ' ' + element.textContent.slice(0, 40)),
    overlaps: overlaps.map((axis) => axis.textContent),
    lanes,
  };
};
addEventListener('load', () => {
  const found = [...document.querySelectorAll('iframe')].map(look);
  document.body.textContent = 'FOUND' + JSON.stringify(found) + 'DNUOF';
});
"#;

/// The browser, if the machine has one.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let starts = |name: &&str| {
        let run = Command::new(name).arg("--version").output();
        run.is_ok_and(|output| output.status.success())
    };
    names.into_iter().find(starts)
}

/// What the browser sees of a page, frame by frame.
fn seen(browser: &str, folder: &Path, html: &str) -> Value {
    let escaped = html.replace('&', "&amp;").replace('"', "&quot;");
    let frames: Vec<String> = WIDTHS
        .iter()
        .map(|width| {
            format!("<iframe srcdoc=\"{escaped}\" style=\"width:{width}px;height:900px;border:0\"></iframe>")
        })
        .collect();
    let text = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body>{}<script>{LOOK}</script></body>",
        frames.concat()
    );
    let path = folder.join("frames.html");
    fs_err::write(&path, text).expect("the folder can be written");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1600,1000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg("--dump-dom")
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = dom
        .split_once("FOUND")
        .and_then(|(_, rest)| rest.split_once("DNUOF"))
        .unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&output.stderr)));
    let text = found
        .0
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    serde_json::from_str(&text).expect("an answer")
}

#[test]
fn pictures_are_there_on_a_phone_and_on_a_wide_screen() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on this machine");
        return;
    };
    let reported = reported();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seen = seen(browser, folder.path(), &reported.html);
    let plans = reported.plans.as_array().expect("plans");
    for (width, page) in WIDTHS.iter().zip(seen.as_array().expect("frames")) {
        let number = |field: &str| page[field].as_i64().expect("a number");
        assert!(number("pictures") > 60, "{width}: {page}");
        assert!(number("shapes") > 100, "{width}: {page}");
        assert_eq!(number("flat"), 0, "{width}: pictures without a size");
        assert_eq!(number("empty"), 0, "{width}: shapes without a size");
        assert_eq!(number("unnamed"), 0, "{width}: pictures without words");
        assert_eq!(number("wide"), 0, "{width}: the page scrolls sideways");
        assert_eq!(page["outside"], Value::Array(Vec::new()), "{width}");
        assert_eq!(page["overlaps"], Value::Array(Vec::new()), "{width}");
        let lanes: Vec<(&str, &str)> = page["lanes"]
            .as_array()
            .expect("lanes")
            .iter()
            .map(|lane| {
                (
                    lane[0].as_str().expect("text"),
                    lane[1].as_str().expect("text"),
                )
            })
            .collect();
        for (name, size) in plans.iter().flat_map(buffers) {
            let shown = format!("{size} KiB");
            assert!(
                lanes.contains(&(name.as_str(), shown.as_str())),
                "{width}: {name} {shown}"
            );
        }
    }
}
