import type { Ct2File } from './ct2-file.ts';
import { createGraphLayers } from './graph-layers.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import { BLOCK, ZERO } from './quantize.ts';
import type { WhisperShape } from './whisper-shape.ts';

/** A layer and one of its heads. */
export type Head = readonly [layer: number, head: number];

/** What no weight is: it hides the tokens that are still to come. */
const HIDDEN = -1e9;

/**
 * From tokens, what was kept of those before them, and what the encoder gives, to the scores of the token that follows the
 * last one. Beside that: what is to be kept, and the attention of the heads that follow the speech.
 */
export function buildWhisperDecoder(
  graph: OnnxGraph,
  model: Ct2File,
  shape: WhisperShape,
  alignmentHeads: readonly Head[],
): void {
  const { decoderLayers, heads, headWidth, width, frames, vocabulary } = shape;
  const layers = createGraphLayers({ graph, model, shape, linears: 'quantized' });
  const whole = (...values: readonly number[]): string => graph.constant('int64', values);
  const sizeOf = (x: string, axis: number): string =>
    graph.node('Shape', [x], { attributes: { start: axis, end: axis + 1 } });
  const unsqueeze = (x: string, axis: number): string => graph.node('Unsqueeze', [x, whole(axis)]);

  const ids = graph.input('input_ids', 'int64', ['batch_size', 'tokens']);
  const pastOf = (layer: number, what: string): string =>
    graph.input(`past_key_values.${layer}.decoder.${what}`, 'float', ['batch_size', heads, 'past', headWidth]);
  const crossOf = (layer: number, what: string): string =>
    graph.input(`cross.${layer}.${what}`, 'float', ['batch_size', heads, frames, headWidth]);
  const pasts = Array.from({ length: decoderLayers }, (_, layer) => ({
    key: pastOf(layer, 'key'),
    value: pastOf(layer, 'value'),
    crossKey: crossOf(layer, 'key'),
    crossValue: crossOf(layer, 'value'),
  }));
  const first = pasts[0]?.key;
  if (first === undefined) throw new Error('the model file has a decoder without layers');
  graph.output('logits', 'float', ['batch_size', 1, vocabulary]);

  const total = graph.node('Add', [sizeOf(first, 2), sizeOf(ids, 1)]);
  const before = sizeOf(first, 2);
  const one = graph.constant('int64', [1], []);
  const zero = graph.constant('int64', [0], []);
  const scalar = (x: string): string => graph.node('Squeeze', [x, whole(0)]);
  const queryAt = graph.node('Range', [scalar(before), scalar(total), one]);
  const keyAt = graph.node('Range', [zero, scalar(total), one]);
  const isLater = graph.node('Greater', [unsqueeze(keyAt, 0), unsqueeze(queryAt, 1)]);
  const mask = graph.node('Where', [isLater, graph.constant('float', [HIDDEN], []), graph.constant('float', [0], [])]);

  // The table of the scores serves as that of the tokens, too: codes and scales of the asked rows, put together here.
  const codes = graph.node('Cast', [graph.node('Gather', ['head', ids])], { attributes: { to: 1 } });
  const centred = graph.node('Sub', [codes, graph.constant('float', [ZERO], [])]);
  const scaleTable = graph.node('Reshape', ['head_s', whole(-1, width / BLOCK)]);
  const scales = graph.node('Unsqueeze', [graph.node('Gather', [scaleTable, ids]), whole(-1)]);
  const embedded = graph.node('Reshape', [graph.node('Mul', [centred, scales]), whole(0, 0, width)]);
  const positions = graph.node('Gather', [layers.half('positions', 'decoder/position_encodings/encodings'), queryAt]);
  let x = graph.node('Add', [embedded, positions]);

  const scale = graph.constant('float', [headWidth ** -0.5], []);
  const attend = (
    query: string,
    { key, value }: { readonly key: string; readonly value: string },
    { hidden, output }: { readonly hidden?: string; readonly output?: string },
  ): string => {
    const turned = graph.node('Transpose', [key], { attributes: { perm: [0, 1, 3, 2] } });
    let scores = graph.node('MatMul', [query, turned]);
    if (hidden !== undefined) scores = graph.node('Add', [scores, hidden]);
    const shares = graph.node('Softmax', [scores], {
      attributes: { axis: -1 },
      ...(output === undefined ? {} : { output }),
    });
    return layers.merge(graph.node('MatMul', [shares, value]));
  };

  const aligned: string[] = [];
  for (const [layer, past] of pasts.entries()) {
    const name = `decoder/layer_${layer}`;
    const [own, cross] = [`${name}/self_attention`, `${name}/attention`];
    const y = layers.norm(x, `${own}/layer_norm`);
    const part = (at: number): string =>
      layers.split(layers.linear(y, `${own}/linear_0`, { from: at * width, to: (at + 1) * width }));
    const [query, newKey, newValue] = [part(0), part(1), part(2)];
    const join = (old: string, added: string, what: string): string =>
      graph.node('Concat', [old, added], { attributes: { axis: 2 }, output: `present.${layer}.decoder.${what}` });
    const kept = { key: join(past.key, newKey, 'key'), value: join(past.value, newValue, 'value') };
    const mixed = attend(graph.node('Mul', [query, scale]), kept, { hidden: mask });
    x = graph.node('Add', [x, layers.linear(mixed, `${own}/linear_1`)]);

    const asked = layers.split(layers.linear(layers.norm(x, `${cross}/layer_norm`), `${cross}/linear_0`));
    const shares = `shares_${layer}`;
    const heard = attend(
      graph.node('Mul', [asked, scale]),
      { key: past.crossKey, value: past.crossValue },
      { output: shares },
    );
    x = graph.node('Add', [x, layers.linear(heard, `${cross}/linear_2`)]);
    for (const [of, head] of alignmentHeads)
      if (of === layer) aligned.push(graph.node('Slice', [shares, whole(head), whole(head + 1), whole(1)]));
    x = layers.feedForward(x, `${name}/ffn`);
    for (const what of ['key', 'value'])
      graph.output(`present.${layer}.decoder.${what}`, 'float', ['batch_size', heads, 'decoder_all', headWidth]);
  }

  const last = graph.node('Slice', [layers.norm(x, 'decoder/layer_norm'), whole(-1), whole(2 ** 53), whole(1)]);
  graph.node('Concat', aligned, { attributes: { axis: 1 }, output: 'alignment' });
  graph.output('alignment', 'float', ['batch_size', aligned.length, 'tokens', frames]);
  graph.node('Identity', [layers.plainLinear(last, 'head', 'decoder/embeddings/weight')], { output: 'logits' });
}
