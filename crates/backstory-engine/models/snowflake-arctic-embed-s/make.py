"""Makes model.onnx of the published int8 model: products of float numbers with weights that are int8 with a scale.

    python3 make.py published/model_int8.onnx model.onnx      # needs onnx 1.17 from PyPI
"""

import sys

import onnx
from onnx import TensorProto, helper, numpy_helper


def main(source, target):
    model = onnx.load(source)
    graph = model.graph
    weights = {each.name: each for each in graph.initializer}
    producer = {output: node for node in graph.node for output in node.output}
    consumers = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    replaced, dropped = {}, set()
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        quantize = producer[node.input[0]]
        cast = consumers[node.output[0]][0]
        scaled = consumers[cast.output[0]][0]
        scales = producer[next(name for name in scaled.input if name != cast.output[0])]
        scale = next(name for name in scales.input if name in weights)
        assert quantize.op_type == "DynamicQuantizeLinear"
        assert not numpy_helper.to_array(weights[node.input[3]]).any(), "weights have zero points"
        base = node.input[1].replace("_quantized", "")
        replaced[id(node)] = [
            helper.make_node("Cast", [node.input[1]], [base + "_float"], name=base + "_cast", to=TensorProto.FLOAT),
            helper.make_node("Mul", [base + "_float", scale], [base + "_weight"], name=base + "_scaled"),
            helper.make_node("MatMul", [quantize.input[0], base + "_weight"], [scaled.output[0]], name=base + "_matmul"),
        ]
        dropped |= {id(quantize), id(cast), id(scaled), id(scales)}
    rest = []
    for node in graph.node:
        rest += replaced.get(id(node), [] if id(node) in dropped else [node])
    used = {name for node in rest for name in node.input}
    kept = [each for each in graph.initializer if each.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    # Each after those that it needs.
    known = {each.name for each in [*graph.initializer, *graph.input]} | {""}
    ordered = []
    while rest:
        ready = [node for node in rest if known.issuperset(node.input)]
        assert ready
        known.update(output for node in ready for output in node.output)
        ordered += ready
        rest = [node for node in rest if not any(node is each for each in ready)]
    del graph.node[:]
    graph.node.extend(ordered)
    onnx.checker.check_model(model)
    onnx.save(model, target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
