//! The command as a user meets it: exit codes, streams, files.

mod common;

use common::{Folder, LOCAL, TWO};
use expect_test::expect;

#[test]
fn a_sound_file_is_0_and_says_so() {
    let folder = Folder::with("local.fa", LOCAL);
    let run = folder.run(&["check", "local.fa"]);
    assert_eq!(run.code, 0);
    expect![[r#"
        local.fa: 1 variant, 0 errors, 0 warnings
    "#]]
    .assert_eq(&run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn errors_are_1_and_rendered_with_their_repair() {
    let folder = Folder::with(
        "bad.fa",
        "attention plain {\n    head_dim = 64;\n    mask = causal & window(-1, 0);\n}\n",
    );
    let run = folder.run(&["check", "bad.fa"]);
    assert_eq!(run.code, 1);
    expect![[r#"
        error[FA003]: `&` does not exist
         --> bad.fa:3:19
          |
        3 |     mask = causal & window(-1, 0);
          |                   ^ it binds differently in every language, so that `a >= b & c` is misread
          |
        help: write `&&`
          |
        3 |     mask = causal && window(-1, 0);
          |                    +

        error[FA022]: `window` has a side of -1, a side counts keys and starts at 0
         --> bad.fa:3:28
          |
        3 |     mask = causal & window(-1, 0);
          |                            ^^ a negative side
          |
          = help: write `unbounded` for an open side, or a number from 0 on

    "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn json_has_places_and_repairs() {
    let folder = Folder::with(
        "bad.fa",
        "attention plain {\n    head_dim = 64;\n    mask = causal & causal;\n    allow = [FA103];\n}\n",
    );
    let run = folder.run(&["check", "bad.fa", "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let json = run.json();
    let found = &json["diagnostics"][0];
    assert_eq!(found["code"], "FA003");
    assert_eq!(found["severity"], "error");
    assert_eq!(found["file"], "bad.fa");
    assert_eq!((&found["line"], &found["column"]), (&3.into(), &19.into()));
    assert_eq!(found["patch"]["replacement"], "&&");
    assert_eq!(found["help"], "write `&&`");
    assert_eq!(json["errors"], 1);
}

#[test]
fn strict_turns_warnings_into_errors() {
    let folder = Folder::with(
        "warned.fa",
        "const unused: int = 3;\nattention plain { head_dim = 64; precision = fp32; allow = [FA103]; }\n",
    );
    let run = folder.run(&["check", "warned.fa"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.starts_with("warning[FA040]"), "{}", run.stderr);
    let run = folder.run(&["check", "warned.fa", "--strict"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("error[FA040]"), "{}", run.stderr);
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::with("two.fa", TWO);
    for arguments in [
        &["check", "absent.fa"][..],
        &["two.fa"],
        &["check", "two.fa", "--target", "absent.toml"],
        &["check", "two.fa", "-D", "radius"],
        &["explain", "FA999"],
        &["bench", "two.fa"],
        &["two.fa", "-o", "out", "--emit", "ascendc"],
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(folder.files(), ["two.fa"]);
}

#[test]
fn wrong_usage_is_said_to_machines_too() {
    let folder = Folder::with("two.fa", TWO);
    for (arguments, said) in [
        (&["check", "absent.fa", "--format", "json"][..], "absent.fa"),
        (&["check", "--format=json"], "<FILE>"),
        (&["run", "two.fa", "--format", "json", "--q"], "--q"),
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stderr.as_str()), (2, ""), "{arguments:?}");
        let error = &run.json()["error"];
        assert_eq!(error["kind"], "usage", "{arguments:?}");
        let message = error["message"].as_str().expect("text");
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
}

#[test]
fn an_unknown_target_has_a_code() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&["check", "two.fa", "--target", "ascend910"]);
    assert_eq!(run.code, 1);
    expect![[r#"
        error[FA202]: there is no target `ascend910`
         |
         = help: did you mean `ascend910b`?

    "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn help_is_0() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&["--help"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("Usage: fa-gen"), "{}", run.stdout);
    assert!(run.stdout.contains("bench"), "{}", run.stdout);
}

#[test]
fn defines_override_consts_and_are_checked() {
    let folder = Folder::with("local.fa", LOCAL);
    let count = |define: &str| {
        let run = folder.run(&[
            "explain", "local.fa", "-D", define, "--q-len", "1024", "--kv-len", "1024", "--format",
            "json",
        ]);
        run.json()["plans"][0]["mask_tiles"]["empty"].clone()
    };
    assert_ne!(count("radius=15"), count("radius=900"));
    let run = folder.run(&["check", "local.fa", "-D", "diameter=1"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("FA024"), "{}", run.stderr);
}

#[test]
fn a_code_has_a_page() {
    let folder = Folder::with("two.fa", TWO);
    for code in ["FA101", "fa101"] {
        let run = folder.run(&["explain", code]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.starts_with("# FA101"), "{}", run.stdout);
    }
    let run = folder.run(&["explain", "FA101", "--format", "json"]);
    assert_eq!(run.json()["slug"], "tile-too-large");
}

#[test]
fn explain_draws_the_mask() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&[
        "explain", "two.fa", "--name", "causal", "--q-len", "1024", "--kv-len", "1024", "--format",
        "json",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    let plan = &json["plans"][0];
    assert_eq!(plan["variant"], "causal");
    let tiles = &plan["mask_tiles"];
    let number = |key: &str| tiles[key].as_u64().expect("a count");
    let total = number("full") + number("partial") + number("empty");
    let side = |key: &str| 1024_u64.div_ceil(plan["tile"][key].as_u64().expect("a block"));
    assert_eq!(total, side("block_q") * side("block_kv"));
    assert!(number("empty") > 0 && number("full") > 0);
    let text = folder.run(&["explain", "two.fa", "--q-len", "64", "--kv-len", "64"]);
    assert!(text.stdout.contains("mask tiles"), "{}", text.stdout);
    assert!(text.stdout.contains("schedule"), "{}", text.stdout);
}

#[test]
fn targets_are_listed() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&["targets"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("ascend910b"), "{}", run.stdout);
    let json = folder.run(&["targets", "--format", "json"]).json();
    assert_eq!(json["targets"][0]["memory"]["l0a"]["bytes"], 65536);
}

#[test]
fn generated_files_come_whole_or_not_at_all() {
    let folder = Folder::with("two.fa", TWO);
    folder.write("bad.fa", "attention bad { head_dim = 0; }\n");
    let run = folder.run(&["two.fa", "bad.fa", "-o", "out"]);
    assert_eq!(run.code, 1);
    assert_eq!(folder.files(), ["bad.fa", "two.fa"], "nothing is written");
    let run = folder.run(&["two.fa", "-o", "out", "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    let written = json["files"].as_array().expect("a list").len();
    assert_eq!(
        folder.files_in("out").len(),
        written,
        "nothing temporary is left"
    );
    assert!(written >= 2);
    let first = folder.read_all("out");
    folder.run(&["two.fa", "-o", "out"]);
    assert_eq!(
        folder.read_all("out"),
        first,
        "the same input gives the same bytes"
    );
}

#[test]
fn stages_can_be_printed() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&["two.fa", "-o", "out", "--emit", "ast,variant,plan"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        folder.files_in("out"),
        [
            "causal.variant.json",
            "causal_cpu.plan.txt",
            "plain.variant.json",
            "plain_cpu.plan.txt",
            "two.fa.ast.txt",
        ]
    );
}

/// A target of one's own.
const MINE: &str = "name = \"mine\"\nkind = \"cpu\"\ndescription = \"my machine\"\n\
                    [cpu]\nl1d_bytes = 49152\nl2_bytes = 2097152\ncache_line_bytes = 64\n";

#[test]
fn a_target_may_be_a_file() {
    let folder = Folder::with("two.fa", TWO);
    folder.write("mine.toml", MINE);
    let run = folder.run(&["explain", "two.fa", "--target", "mine.toml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("plain for mine"), "{}", run.stdout);
    folder.write("broken.toml", "name = 3\n");
    let run = folder.run(&["explain", "two.fa", "--target", "broken.toml"]);
    assert_eq!(run.code, 2);
}

#[test]
fn fmt_rewrites_or_only_checks() {
    let folder = Folder::with("two.fa", "attention   plain{head_dim=64;}\n");
    let run = folder.run(&["fmt", "two.fa", "--check"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "two.fa is not formatted\n");
    assert_eq!(folder.run(&["fmt", "two.fa"]).code, 0);
    assert_eq!(folder.run(&["fmt", "two.fa", "--check"]).code, 0);
    let text = String::from_utf8(folder.read_all(".")["two.fa"].clone()).expect("text");
    expect![[r#"
        attention plain {
            head_dim = 64;
        }
    "#]]
    .assert_eq(&text);
    folder.write("bad.fa", "attention plain { head_dim = ; }\n");
    let run = folder.run(&["fmt", "bad.fa"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("FA001"), "{}", run.stderr);
}

#[test]
fn mask_tiles_are_counted_as_the_language_says() {
    let folder = Folder::with("two.fa", TWO);
    for (mask, [full, partial, empty]) in [
        ("causal", [28, 8, 28]),
        ("causal && window(255, 0)", [7, 14, 43]),
        ("causal && window(254, 0)", [0, 21, 43]),
        ("causal || prefix(200)", [29, 8, 27]),
    ] {
        folder.write(
            "masked.fa",
            format!(
                "attention masked {{ head_dim = 64; mask = {mask}; \
                 tile {{ block_q = 128; block_kv = 128; }} }}\n"
            ),
        );
        let run = folder.run(&[
            "explain",
            "masked.fa",
            "--target",
            "ascend910b",
            "--q-len",
            "1024",
            "--kv-len",
            "1024",
            "--format",
            "json",
        ]);
        let json = run.json();
        let tiles = &json["plans"][0]["mask_tiles"];
        assert_eq!(
            [&tiles["full"], &tiles["partial"], &tiles["empty"]],
            [full, partial, empty],
            "{mask}"
        );
    }
}

#[test]
fn notes_about_other_variants_are_left_out() {
    let text = TWO.replace(" allow = [FA103];", "");
    let folder = Folder::with("two.fa", &text);
    let run = folder.run(&["explain", "two.fa", "--name", "causal"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("`causal` takes every sequence"));
    assert!(!run.stderr.contains("`plain` takes every sequence"));
    let run = folder.run(&["explain", "two.fa"]);
    assert!(run.stderr.contains("`plain` takes every sequence"));
}

#[test]
fn errors_of_one_variant_hide_none_of_another() {
    let folder = Folder::with(
        "many.fa",
        "attention large { head_dim = 64; tile { block_q = 128; block_kv = 8192; } target = cpu; target ascend910d { tile { stages = 2; } } }\n\
         attention inexact { head_dim = 64; mask = kv_pos * 104729 % 13 != 0; }\n\
         attention orphan : nosuch { mask = q_pso > 0; }\n\
         attention sound { head_dim = 64; allow = [FA103]; }\n",
    );
    let codes = |arguments: &[&str]| -> Vec<String> {
        let run = folder.run(arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stderr);
        let found = run.json()["diagnostics"]
            .as_array()
            .expect("a list")
            .clone();
        found
            .iter()
            .filter(|found| found["severity"] == "error")
            .map(|found| found["code"].as_str().expect("text").to_owned())
            .collect()
    };
    let all = ["FA020", "FA006", "FA202", "FA101", "FA203"];
    for command in [
        &["check", "many.fa"][..],
        &["explain", "many.fa"],
        &["many.fa", "-o", "out"],
    ] {
        let arguments = [command, &["--target", "ascend910b", "--format", "json"]].concat();
        assert_eq!(codes(&arguments), all, "{command:?}");
    }
    // A misspelt target of the command line is one more error, with a code.
    let arguments = [
        "check",
        "many.fa",
        "--target",
        "ascend910",
        "--format",
        "json",
    ];
    assert_eq!(codes(&arguments)[..4], ["FA020", "FA006", "FA202", "FA202"]);
    assert_eq!(folder.files(), ["many.fa"]);
}

#[test]
fn a_file_may_name_a_target_that_lies_beside_it() {
    let folder = Folder::with(
        "mine.fa",
        "attention plain { head_dim = 64; allow = [FA103]; target mine { tile { block_q = 32; } } }\n",
    );
    assert_eq!(folder.run(&["check", "mine.fa", "--target", "cpu"]).code, 1);
    folder.write("mine.toml", MINE);
    for more in [&[][..], &["--target", "cpu"], &["--target", "mine.toml"]] {
        let run = folder.run(&[&["explain", "mine.fa"], more].concat());
        assert_eq!(run.code, 0, "{more:?}: {}", run.stderr);
        let own = run.stdout.contains("plain for mine: block_q 32");
        assert_eq!(own, more != ["--target", "cpu"], "{}", run.stdout);
    }
}

/// A fenced block of the README by how it starts, without its fences.
fn readme_block(start: &str) -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let text = fs_err::read_to_string(readme).expect("the README can be read");
    let (_, rest) = text.split_once(start).expect("the README has the block");
    let (block, _) = rest.split_once("\n```").expect("the block ends");
    format!("{block}\n")
}

#[test]
fn the_readme_shows_what_the_command_says() {
    let folder = Folder::with("big.fa", &readme_block("```text\n// big.fa\n"));
    let big = fs_err::read_to_string(folder.path().join("big.fa")).expect("just written");
    folder.write("big.fa", format!("// big.fa\n{big}"));
    let shown = readme_block("```console\n$ fa-gen check big.fa --target ascend910b\n");
    let run = folder.run(&["check", "big.fa", "--target", "ascend910b"]);
    let said: Vec<&str> = run.stderr.lines().collect();
    for part in shown.split("…\n") {
        let lines: Vec<&str> = part.lines().collect();
        let found = said.windows(lines.len()).any(|window| window == lines);
        assert!(
            found,
            "the README shows\n{part}\nand the command says\n{}",
            run.stderr
        );
    }

    let folder = Folder::with("alibi.fa", "");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/alibi.fa");
    fs_err::copy(example, folder.path().join("alibi.fa")).expect("the example is there");
    let shown = readme_block("-o out --target ascend910b --target cpu\n");
    let both = ["--target", "ascend910b", "--target", "cpu"];
    let run = folder.run(&[&["alibi.fa", "-o", "out"][..], &both].concat());
    assert_eq!(run.stdout, shown);
}
