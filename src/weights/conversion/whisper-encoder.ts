import type { Ct2File } from './ct2-file.ts';
import { createGraphLayers } from './graph-layers.ts';
import { MICROSOFT } from './onnx-graph.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import type { WhisperShape } from './whisper-shape.ts';

/**
 * From the spectrum of half a minute to the keys and values that each layer of the decoder looks up in it. They are made
 * here, once, and not by the decoder for each token.
 */
export function buildWhisperEncoder(graph: OnnxGraph, model: Ct2File, shape: WhisperShape): void {
  const { encoderLayers, decoderLayers, heads, headWidth, width, bands, frames } = shape;
  const layers = createGraphLayers({ graph, model, shape, linears: 'half' });
  let x = graph.input('input_features', 'float', ['batch_size', bands, 2 * frames]);
  for (const [number, stride] of [
    [1, 1],
    [2, 2],
  ] as const) {
    const weight = layers.half(`conv${number}`, `encoder/conv${number}/weight`);
    const inputs = [x, weight, layers.float(`conv${number}_b`, `encoder/conv${number}/bias`)];
    const attributes = { kernel_shape: [3], pads: [1, 1], strides: [stride] };
    x = graph.node('Gelu', [graph.node('Conv', inputs, { attributes })]);
  }
  const inTime = graph.node('Transpose', [x], { attributes: { perm: [0, 2, 1] } });
  x = graph.node('Add', [inTime, layers.half('positions', 'encoder/position_encodings/encodings')]);
  for (let layer = 0; layer < encoderLayers; layer++) {
    const name = `encoder/layer_${layer}`;
    const attention = `${name}/self_attention`;
    const y = layers.norm(x, `${attention}/layer_norm`);
    const queryKeyValue = [0, 1, 2].map((part) =>
      layers.linear(y, `${attention}/linear_0`, { from: part * width, to: (part + 1) * width }),
    );
    const mixed = graph.node('MultiHeadAttention', queryKeyValue, {
      attributes: { num_heads: heads },
      domain: MICROSOFT,
    });
    x = layers.feedForward(graph.node('Add', [x, layers.linear(mixed, `${attention}/linear_1`)]), `${name}/ffn`);
  }
  const heard = layers.norm(x, 'encoder/layer_norm');
  for (let layer = 0; layer < decoderLayers; layer++) {
    for (const [part, what] of ['key', 'value'].entries()) {
      const output = `cross.${layer}.${what}`;
      const variable = `decoder/layer_${layer}/attention/linear_1`;
      const rows = { from: part * width, to: (part + 1) * width };
      graph.node('Identity', [layers.split(layers.linear(heard, variable, rows))], { output });
      graph.output(output, 'float', ['batch_size', heads, frames, headWidth]);
    }
  }
}
