"""`fa-gen run` against attention written in NumPy, f64, on .npy files that NumPy made.

    python matrix.py FA_GEN WORK_DIR [--all] [--jobs N] [--effort speed|compile]

Every combination of two settings occurs (a pairwise cover); `--all` runs every combination of all of them. All masks of
one head_dim are variants of one file and compiled into one library per backend.
Prints one line per failure and a summary `N passed, M failed`; exit status 1 where something failed.
"""

import argparse
import concurrent.futures
import itertools
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

Q_LENS = [1, 2, 17, 128, 130]
KV_LENS = [1, 5, 128, 129, 300]
HEAD_DIMS = [16, 40, 64, 128, 129, 256]
GROUPS = [1, 4, 6]
MASKS = {
    "causal": ("mask = causal;", lambda q, k: k <= q),
    "causal_top_left": ("mask = causal; align = top_left;", lambda q, k: k <= q),
    "window_1_0": ("mask = window(1, 0);", lambda q, k: (q - k <= 1) & (k - q <= 0)),
    "window_0_0": ("mask = window(0, 0);", lambda q, k: q == k),
    "window_3_2": ("mask = window(3, 2);", lambda q, k: (q - k <= 3) & (k - q <= 2)),
    "prefix": ("mask = causal || prefix(7);", lambda q, k: (k <= q) | (k < 7)),
    "predicate": ("mask = (q_pos * 3 + kv_pos) % 7 < 4;", lambda q, k: (q * 3 + k) % 7 < 4),
}
# Standard normal; NaN in all that no query may see; scores near +-1e4.
DATA = ["normal", "poisoned", "large"]
FACTORS = [Q_LENS, KV_LENS, HEAD_DIMS, GROUPS, list(MASKS), DATA]


def pairwise():
    """Combinations in which every two settings of two factors meet, found greedily."""
    numbers = {}

    def pairs(row):
        """The pairs of settings in a row, as bits."""
        bits = 0
        for i, j in itertools.combinations(range(len(FACTORS)), 2):
            bits |= 1 << numbers.setdefault((i, row[i], j, row[j]), len(numbers))
        return bits

    everything = [(row, pairs(row)) for row in itertools.product(*FACTORS)]
    open_pairs = (1 << len(numbers)) - 1
    while open_pairs:
        row, covered = max(everything, key=lambda entry: (entry[1] & open_pairs).bit_count())
        open_pairs &= ~covered
        yield row


def source(head_dim):
    """A file with a variant for each mask."""
    variant = "attention {} {{ head_dim = {}; precision = mixed; allow = [FA103]; {} }}\n"
    return "".join(variant.format(name, head_dim, fields) for name, (fields, _) in MASKS.items())


def first_of_each_file(rows):
    """The rows in another order: compilers start on the first ones, and the rest finds their libraries."""
    files = {row[2]: row for row in reversed(rows)}
    return list(files.values()) + [row for row in rows if row is not files[row[2]]]


def attended(mask, q_len, kv_len):
    """Which pairs the mask lets through."""
    shift = 0 if mask == "causal_top_left" else kv_len - q_len
    q_pos, kv_pos = np.arange(q_len)[:, None] + shift, np.arange(kv_len)[None, :]
    return np.broadcast_to(MASKS[mask][1](q_pos, kv_pos), (q_len, kv_len))


def reference(q, k, v, mask, head_dim):
    """Scaled, masked softmax and its weighted sum, O and LSE, in f64; and the largest sum of sizes behind a score."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    keep = attended(mask, q.shape[2], k.shape[2])
    score = np.where(keep, np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(head_dim), -np.inf)
    top = score.max(axis=-1, keepdims=True)
    weight = np.where(keep, np.exp(score - np.where(np.isfinite(top), top, 0.0)), 0.0)
    total = weight.sum(axis=-1, keepdims=True)
    seen = total > 0
    out = np.einsum("bhqk,bhkd->bhqd", np.divide(weight, total, out=np.zeros_like(weight), where=seen), v)
    with np.errstate(divide="ignore"):
        lse = np.where(seen, np.where(seen, top, 0.0) + np.log(total), -np.inf)[..., 0]
    sizes = np.where(keep, np.einsum("bhqd,bhkd->bhqk", np.abs(q), np.abs(k)) / np.sqrt(head_dim), 0.0)
    return out, lse, sizes.max(initial=0.0)


def inputs(row):
    """Clean q, k, v, and which keys no query may see."""
    q_len, kv_len, head_dim, group, mask, data = row
    rng = np.random.default_rng([q_len, kv_len, head_dim, group])
    shapes = {"q": (1, group, q_len, head_dim), "k": (1, 1, kv_len, head_dim), "v": (1, 1, kv_len, head_dim)}
    size = {"q": 100.0, "k": 100.0, "v": 1.0} if data == "large" else {"q": 1.0, "k": 1.0, "v": 1.0}
    tensors = {name: (size[name] * rng.standard_normal(shape)).astype(np.float16) for name, shape in shapes.items()}
    unseen = ~attended(mask, q_len, kv_len).any(axis=0)
    return tensors, unseen


def check(fa_gen, work, effort, row, backend):
    """One launch; returns what is wrong with it, or None."""
    q_len, kv_len, head_dim, group, mask, data = row
    folder = work / f"{backend}_{mask}_{head_dim}_{group}_{q_len}_{kv_len}_{data}"
    folder.mkdir(parents=True, exist_ok=True)
    tensors, unseen = inputs(row)
    # A matrix unit multiplies a masked value by zero, so only the CPU may find NaN in v.
    poisoned = {"cpu": "kv", "ascend": "k"}[backend] if data == "poisoned" else ""
    for name, tensor in tensors.items():
        stored = np.where(unseen[:, None], np.float16(np.nan), tensor) if name in poisoned else tensor
        np.save(folder / f"{name}.npy", stored)
    command = [fa_gen, "run", work / f"d{head_dim}.fa", "--name", mask, "--together"]
    command += ["--effort", effort, "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy", "--lse", "lse.npy"]
    target = ["--backend", "ascend", "--target", "ascend910b"] if backend == "ascend" else ["--backend", "cpu"]
    done = subprocess.run(command + target, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"exit status {done.returncode}: {done.stderr.strip()[-500:]}"
    out, lse = np.load(folder / "o.npy").astype(np.float64), np.load(folder / "lse.npy").astype(np.float64)
    exact_out, exact_lse, terms = reference(*(tensors[name].astype(np.float64) for name in "qkv"), mask, head_dim)
    if out.shape != exact_out.shape or lse.shape != exact_lse.shape:
        return f"shapes {out.shape} and {lse.shape}"
    if not np.array_equal(np.isneginf(lse), np.isneginf(exact_lse)):
        return "other rows are empty"
    error = np.abs(out - exact_out).max(initial=0.0)
    finite = np.isfinite(exact_lse)
    lse_error = np.abs(lse[finite] - exact_lse[finite]).max(initial=0.0)
    # Scores are sums in fp32: what their sum is known to is a share of the sizes of their terms, and the probabilities
    # with it. O is rounded to fp16, as are the probabilities on the way: a few units in the last place of its size.
    score_error = np.finfo(np.float32).eps * terms
    allowed = (3e-3 + score_error) * max(np.abs(exact_out).max(initial=0.0), 1e-3)
    lse_allowed = 1e-4 + 1e-6 * np.abs(exact_lse[finite]).max(initial=0.0) + score_error
    if not (error <= allowed and lse_error <= lse_allowed):
        return f"error {error:.2e} (allowed {allowed:.2e}), LSE error {lse_error:.2e}"
    shutil.rmtree(folder)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fa_gen", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--effort", choices=["speed", "compile"], default="speed")
    arguments = parser.parse_args()
    rows = first_of_each_file(list(itertools.product(*FACTORS)) if arguments.all else list(pairwise()))
    fa_gen, work = arguments.fa_gen.resolve(), arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for head_dim in HEAD_DIMS:
        (work / f"d{head_dim}.fa").write_text(source(head_dim))
    started, failed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {
            pool.submit(check, fa_gen, work, arguments.effort, row, backend): (row, backend)
            for row in rows
            for backend in ("cpu", "ascend")
        }
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            if job.result() is not None:
                failed += 1
                print(f"FAILED {jobs[job]}: {job.result()}", flush=True)
            if number % 1000 == 0:
                print(f"{number} of {len(jobs)} after {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(jobs) - failed} passed, {failed} failed, {time.monotonic() - started:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
