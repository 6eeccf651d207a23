"""`fa-gen run` against attention written in NumPy, f64, on .npy files that NumPy made.

    python matrix.py FA_GEN WORK_DIR [--all] [--jobs N] [--effort speed|compile]
    python matrix.py --naive [--all]

Every combination of two settings occurs (a pairwise cover); `--all` runs every combination of all of them; `--naive` runs
nothing and tells what a naive kernel in NumPy loses of what is allowed. All masks of one head_dim are variants of one
file and compiled into one library per backend.
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
    """Scaled, masked softmax and its weighted sum, O and LSE, in f64; what an error of all scores of 1 may change in O;
    and the largest sum of sizes behind a score."""
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
    # An error moves weight between a row's largest pair and the others, of which it is a share at most.
    share = np.divide(weight.max(axis=-1, keepdims=True), total, out=np.ones_like(total), where=seen)
    moved = 4.0 * (1.0 - share).max(initial=0.0) * np.abs(v).max(initial=0.0)
    return out, lse, moved, sizes.max(initial=0.0)


def naive(q, k, v, mask, head_dim):
    """O and LSE of the plainest kernel: sums in fp32 in order, probabilities and O in fp16."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (tensor.astype(np.float32) for tensor in (q, np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)))
    keep = attended(mask, q.shape[2], k.shape[2])
    score = np.zeros((*q.shape[:3], k.shape[2]), np.float32)
    for d in range(head_dim):
        score += q[..., :, None, d] * k[..., None, :, d]
    score = np.where(keep, score * np.float32(1.0 / np.sqrt(head_dim)), np.float32(-np.inf))
    top = score.max(axis=-1, keepdims=True)
    weight = np.where(keep, np.exp(score - np.where(np.isfinite(top), top, np.float32(0.0))), np.float32(0.0))
    total = np.add.accumulate(weight, axis=-1, dtype=np.float32)[..., -1:]
    rounded, out = weight.astype(np.float16).astype(np.float32), np.zeros((*q.shape[:3], v.shape[3]), np.float32)
    for j in range(k.shape[2]):
        out += rounded[..., :, j, None] * v[..., None, j, :]
    seen = total > 0
    out = np.divide(out, total, out=np.zeros_like(out), where=seen).astype(np.float16).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return out, np.where(seen, top + np.log(total), -np.inf)[..., 0].astype(np.float64)


def errors(found, tensors, mask, head_dim):
    """Errors of O and LSE and what is allowed for each, or what is wrong altogether."""
    out, lse = found
    exact_out, exact_lse, moved, terms = reference(*(tensors[n].astype(np.float64) for n in "qkv"), mask, head_dim)
    if out.shape != exact_out.shape or lse.shape != exact_lse.shape:
        return f"shapes {out.shape} and {lse.shape}"
    if not np.array_equal(np.isneginf(lse), np.isneginf(exact_lse)):
        return "other rows are empty"
    error = np.abs(out - exact_out).max(initial=0.0)
    finite = np.isfinite(exact_lse)
    lse_error = np.abs(lse[finite] - exact_lse[finite]).max(initial=0.0)
    # Scores are sums in fp32: what a naive kernel loses of them is a unit in the last place of the sizes of their terms
    # (`--naive` tells), and the probabilities with it. O and the probabilities on the way are rounded to fp16: twice
    # what a naive kernel loses by that is a unit in the last place of O.
    score_error = np.finfo(np.float32).eps * terms
    allowed = 2.0**-10 * np.abs(exact_out).max(initial=0.0) + score_error * moved + 1e-7
    lse_allowed = 2e-6 + 1e-6 * np.abs(exact_lse[finite]).max(initial=0.0) + score_error
    return error, allowed, lse_error, lse_allowed


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
    found = errors((out, lse), tensors, mask, head_dim)
    if isinstance(found, str):
        return found
    error, allowed, lse_error, lse_allowed = found
    if not (error <= allowed and lse_error <= lse_allowed):
        return f"error {error:.2e} (allowed {allowed:.2e}), LSE error {lse_error:.2e} (allowed {lse_allowed:.2e})"
    shutil.rmtree(folder)
    return None


def measure_naive(rows):
    """Prints what a naive kernel loses, as shares of what is allowed."""
    for data in DATA:
        shares = []
        for q_len, kv_len, head_dim, group, mask, kind in rows:
            if kind == data:
                tensors, _ = inputs((q_len, kv_len, head_dim, group, mask, kind))
                found = naive(*(tensors[name] for name in "qkv"), mask, head_dim)
                error, allowed, lse_error, lse_allowed = errors(found, tensors, mask, head_dim)
                shares.append((error / allowed, lse_error / lse_allowed))
        out, lse = np.array(shares).T
        print(
            f"{data}: {len(shares)} launches; of what is allowed a naive kernel loses up to {out.max():.2f} in O "
            f"and {lse.max():.2f} in LSE, in the median {np.median(out):.2f} and {np.median(lse):.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fa_gen", type=pathlib.Path, nargs="?")
    parser.add_argument("work", type=pathlib.Path, nargs="?")
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--effort", choices=["speed", "compile"], default="speed")
    arguments = parser.parse_args()
    rows = first_of_each_file(list(itertools.product(*FACTORS)) if arguments.all else list(pairwise()))
    if arguments.naive:
        measure_naive(rows)
        return
    if arguments.fa_gen is None or arguments.work is None:
        parser.error("name FA_GEN and WORK_DIR, or ask for --naive")
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
