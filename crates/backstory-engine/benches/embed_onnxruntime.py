#!/usr/bin/env python3
"""ONNX Runtime on the passages of benches/embed.rs: the same texts, model file and threads.

    pip install onnxruntime tokenizers numpy
    cargo bench --profile dev -p backstory -p backstory-engine --bench embed --no-run    # prints the path
    python3 embed_onnxruntime.py [--rounds 5] [--threads 2] [--against PATH_OF_THE_BENCHMARK]

With --against, rounds of both alternate, since other load on the machine changes by the minute, and the medians of the
ratios are printed. ONNX Runtime is measured in two ways: a session with all threads and batches of 8, which is how it
is used most, and a session of one thread for each core with batches of 4, which is its best.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import threading
import time

import numpy
import onnxruntime
import tokenizers

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "models" / "all-minilm-l6-v2"
PASSAGES, FEWEST_WORDS, MOST_WORDS, WINDOW = 200, 52, 154, 256
CLS, SEP = 101, 102


def passages():
    words = (HERE / "words.txt").read_text().split()
    state = 1

    def below(bound):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % bound

    for _ in range(PASSAGES):
        count = FEWEST_WORDS + below(MOST_WORDS - FEWEST_WORDS + 1)
        yield " ".join(words[below(len(words))] for _ in range(count))


def session(threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(MODEL / "model.onnx"), options, providers=["CPUExecutionProvider"])


def embed(model, batch):
    width = max(map(len, batch))
    ids = numpy.zeros((len(batch), width), numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    states = model.run(["last_hidden_state"], inputs)[0]
    sums = (states * mask[:, :, None]).sum(axis=1)
    return sums / numpy.linalg.norm(sums, axis=1, keepdims=True)


class Runtime:
    """Embeds texts as the benchmark does: tokenized, sorted by length, in batches."""

    def __init__(self, lanes, threads, batch):
        self.batch = batch
        self.sessions = [session(threads) for _ in range(lanes)]
        self.tokenizer = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def tokens(self, texts):
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[CLS, *encoding.ids[:WINDOW], SEP] for encoding in encodings]

    def embed(self, texts):
        tokens = self.tokens(texts)
        order = sorted(range(len(texts)), key=lambda place: -len(tokens[place]))
        work = iter([order[at : at + self.batch] for at in range(0, len(order), self.batch)])
        vectors, lock = [None] * len(texts), threading.Lock()

        def lane(model):
            while True:
                with lock:
                    places = next(work, None)
                if places is None:
                    return
                for place, vector in zip(places, embed(model, [tokens[place] for place in places])):
                    vectors[place] = vector

        lanes = [threading.Thread(target=lane, args=(model,)) for model in self.sessions]
        for thread in lanes:
            thread.start()
        for thread in lanes:
            thread.join()
        return vectors

    def speed(self, texts):
        started = time.perf_counter()
        self.embed(texts)
        return len(texts) / (time.perf_counter() - started)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--against", help="the compiled benchmark of backstory")
    arguments = arguments.parse_args()

    texts = list(passages())
    runtimes = {
        "batches of 8": Runtime(1, arguments.threads, 8),
        "side by side": Runtime(arguments.threads, 1, 4),
    }
    for runtime in runtimes.values():
        runtime.embed(texts[:16])
    mean = sum(map(len, runtimes["side by side"].tokens(texts))) / len(texts) - 2
    print(f"ONNX Runtime {onnxruntime.__version__}, {len(texts)} passages of {mean:.0f} tokens")
    speeds = {name: [] for name in runtimes}
    own = []
    for number in range(arguments.rounds):
        line = []
        if arguments.against:
            command = [arguments.against, "--bench", "--rounds", "1", "--threads", str(arguments.threads)]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            own.append(result["passages_per_second"])
            line.append(f"backstory {own[-1]:.1f}/s")
        for name, runtime in runtimes.items():
            speeds[name].append(runtime.speed(texts))
            line.append(f"{name} {speeds[name][-1]:.1f}/s")
        print(f"round {number + 1}:", ", ".join(line))
    for name, values in speeds.items():
        ratio = f", backstory / that {statistics.median(map(lambda a, b: a / b, own, values)):.2f}" if own else ""
        print(f"median: {name} {statistics.median(values):.1f}/s{ratio}")


if __name__ == "__main__":
    main()
