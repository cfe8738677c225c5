import type { Ct2File } from './ct2-file.ts';
import { createGraphLayers } from './graph-layers.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import { BLOCK_SIZE, ZERO_CODE } from './quantize.ts';
import type { WhisperShape } from './whisper-shape.ts';

/** Layer and number of an attention head. */
export type AttentionHead = readonly [layer: number, head: number];

/** Added to the attention scores of later tokens, so that their weight becomes zero. */
const MASKED_SCORE = -1e9;

/**
 * Builds the decoder graph. Inputs: tokens, cached keys and values of earlier tokens, the encoder's output. Outputs:
 * the scores of the next token, the updated cache, and the attention of the heads that align text with speech.
 */
export function buildWhisperDecoder(
  graph: OnnxGraph,
  model: Ct2File,
  shape: WhisperShape,
  alignmentHeads: readonly AttentionHead[],
): void {
  const { decoderLayers, heads, headWidth, width, frames, vocabulary } = shape;
  const layers = createGraphLayers({ graph, model, shape, linearWeights: 'quantized' });
  const addIntegers = (...values: readonly number[]): string => graph.addConstant('int64', values);
  const addSize = (x: string, axis: number): string =>
    graph.addNode('Shape', [x], { attributes: { start: axis, end: axis + 1 } });
  const addUnsqueeze = (x: string, axis: number): string => graph.addNode('Unsqueeze', [x, addIntegers(axis)]);

  const ids = graph.addInput('input_ids', 'int64', ['batch_size', 'tokens']);
  const addPastInput = (layer: number, keyOrValue: string): string =>
    graph.addInput(`past_key_values.${layer}.decoder.${keyOrValue}`, 'float', ['batch_size', heads, 'past', headWidth]);
  const addCrossInput = (layer: number, keyOrValue: string): string =>
    graph.addInput(`cross.${layer}.${keyOrValue}`, 'float', ['batch_size', heads, frames, headWidth]);
  const layerInputs = Array.from({ length: decoderLayers }, (_, layer) => ({
    key: addPastInput(layer, 'key'),
    value: addPastInput(layer, 'value'),
    crossKey: addCrossInput(layer, 'key'),
    crossValue: addCrossInput(layer, 'value'),
  }));
  const firstPastKey = layerInputs[0]?.key;
  if (firstPastKey === undefined) throw new Error('the model file has a decoder without layers');
  graph.addOutput('logits', 'float', ['batch_size', 1, vocabulary]);

  const totalLength = graph.addNode('Add', [addSize(firstPastKey, 2), addSize(ids, 1)]);
  const pastLength = addSize(firstPastKey, 2);
  const one = graph.addConstant('int64', [1], []);
  const zero = graph.addConstant('int64', [0], []);
  const addScalar = (x: string): string => graph.addNode('Squeeze', [x, addIntegers(0)]);
  const queryPositions = graph.addNode('Range', [addScalar(pastLength), addScalar(totalLength), one]);
  const keyPositions = graph.addNode('Range', [zero, addScalar(totalLength), one]);
  const isFutureToken = graph.addNode('Greater', [addUnsqueeze(keyPositions, 0), addUnsqueeze(queryPositions, 1)]);
  const mask = graph.addNode('Where', [
    isFutureToken,
    graph.addConstant('float', [MASKED_SCORE], []),
    graph.addConstant('float', [0], []),
  ]);

  // The output layer's quantized table is also the token embedding: gathers codes and scales of the input tokens.
  const codes = graph.addNode('Cast', [graph.addNode('Gather', ['head', ids])], { attributes: { to: 1 } });
  const centeredCodes = graph.addNode('Sub', [codes, graph.addConstant('float', [ZERO_CODE], [])]);
  const scaleTable = graph.addNode('Reshape', ['head_s', addIntegers(-1, width / BLOCK_SIZE)]);
  const scales = graph.addNode('Unsqueeze', [graph.addNode('Gather', [scaleTable, ids]), addIntegers(-1)]);
  const embedded = graph.addNode('Reshape', [graph.addNode('Mul', [centeredCodes, scales]), addIntegers(0, 0, width)]);
  const positions = graph.addNode('Gather', [
    layers.addHalfFloats('positions', 'decoder/position_encodings/encodings'),
    queryPositions,
  ]);
  let x = graph.addNode('Add', [embedded, positions]);

  const scale = graph.addConstant('float', [headWidth ** -0.5], []);
  const addAttention = (
    query: string,
    { key, value }: { readonly key: string; readonly value: string },
    { maskInput, output }: { readonly maskInput?: string; readonly output?: string },
  ): string => {
    const transposedKey = graph.addNode('Transpose', [key], { attributes: { perm: [0, 1, 3, 2] } });
    let scores = graph.addNode('MatMul', [query, transposedKey]);
    if (maskInput !== undefined) scores = graph.addNode('Add', [scores, maskInput]);
    const attentionWeights = graph.addNode('Softmax', [scores], {
      attributes: { axis: -1 },
      ...(output === undefined ? {} : { output }),
    });
    return layers.mergeHeads(graph.addNode('MatMul', [attentionWeights, value]));
  };

  const alignmentWeights: string[] = [];
  for (const [layer, inputs] of layerInputs.entries()) {
    const name = `decoder/layer_${layer}`;
    const [selfAttention, crossAttention] = [`${name}/self_attention`, `${name}/attention`];
    const normalized = layers.addLayerNorm(x, `${selfAttention}/layer_norm`);
    const addProjection = (at: number): string =>
      layers.splitHeads(
        layers.addLinear(normalized, `${selfAttention}/linear_0`, { from: at * width, to: (at + 1) * width }),
      );
    const [query, newKey, newValue] = [addProjection(0), addProjection(1), addProjection(2)];
    const addConcat = (old: string, added: string, keyOrValue: string): string =>
      graph.addNode('Concat', [old, added], {
        attributes: { axis: 2 },
        output: `present.${layer}.decoder.${keyOrValue}`,
      });
    const present = { key: addConcat(inputs.key, newKey, 'key'), value: addConcat(inputs.value, newValue, 'value') };
    const selfOutput = addAttention(graph.addNode('Mul', [query, scale]), present, { maskInput: mask });
    x = graph.addNode('Add', [x, layers.addLinear(selfOutput, `${selfAttention}/linear_1`)]);

    const crossQuery = layers.splitHeads(
      layers.addLinear(layers.addLayerNorm(x, `${crossAttention}/layer_norm`), `${crossAttention}/linear_0`),
    );
    const attentionWeights = `shares_${layer}`;
    const crossOutput = addAttention(
      graph.addNode('Mul', [crossQuery, scale]),
      { key: inputs.crossKey, value: inputs.crossValue },
      { output: attentionWeights },
    );
    x = graph.addNode('Add', [x, layers.addLinear(crossOutput, `${crossAttention}/linear_2`)]);
    for (const [headLayer, head] of alignmentHeads)
      if (headLayer === layer)
        alignmentWeights.push(
          graph.addNode('Slice', [attentionWeights, addIntegers(head), addIntegers(head + 1), addIntegers(1)]),
        );
    x = layers.addFeedForward(x, `${name}/ffn`);
    for (const keyOrValue of ['key', 'value'])
      graph.addOutput(`present.${layer}.decoder.${keyOrValue}`, 'float', [
        'batch_size',
        heads,
        'decoder_all',
        headWidth,
      ]);
  }

  const last = graph.addNode('Slice', [
    layers.addLayerNorm(x, 'decoder/layer_norm'),
    addIntegers(-1),
    addIntegers(2 ** 53),
    addIntegers(1),
  ]);
  graph.addNode('Concat', alignmentWeights, { attributes: { axis: 1 }, output: 'alignment' });
  graph.addOutput('alignment', 'float', ['batch_size', alignmentWeights.length, 'tokens', frames]);
  graph.addNode('Identity', [layers.addLinearWithoutBias(last, 'head', 'decoder/embeddings/weight')], {
    output: 'logits',
  });
}
