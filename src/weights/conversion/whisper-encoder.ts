import type { Ct2File } from './ct2-file.ts';
import { createGraphLayers } from './graph-layers.ts';
import { MICROSOFT_DOMAIN, type OnnxGraph } from './onnx-graph.ts';
import type { WhisperShape } from './whisper-shape.ts';

/**
 * Builds the encoder graph: from the spectrum of 30 seconds to the cross-attention keys and values of each decoder
 * layer. The encoder computes them once, so that the decoder does not repeat this for each token.
 */
export function buildWhisperEncoder(graph: OnnxGraph, model: Ct2File, shape: WhisperShape): void {
  const { encoderLayers, decoderLayers, heads, headWidth, width, bands, frames } = shape;
  const layers = createGraphLayers({ graph, model, shape, linearWeights: 'half' });
  let x = graph.addInput('input_features', 'float', ['batch_size', bands, 2 * frames]);
  for (const [number, stride] of [
    [1, 1],
    [2, 2],
  ] as const) {
    const weight = layers.addHalfFloats(`conv${number}`, `encoder/conv${number}/weight`);
    const inputs = [x, weight, layers.addFloats(`conv${number}_b`, `encoder/conv${number}/bias`)];
    const attributes = { kernel_shape: [3], pads: [1, 1], strides: [stride] };
    x = graph.addNode('Gelu', [graph.addNode('Conv', inputs, { attributes })]);
  }
  const timeMajor = graph.addNode('Transpose', [x], { attributes: { perm: [0, 2, 1] } });
  x = graph.addNode('Add', [timeMajor, layers.addHalfFloats('positions', 'encoder/position_encodings/encodings')]);
  for (let layer = 0; layer < encoderLayers; layer++) {
    const name = `encoder/layer_${layer}`;
    const attention = `${name}/self_attention`;
    const normalized = layers.addLayerNorm(x, `${attention}/layer_norm`);
    const queryKeyValue = [0, 1, 2].map((part) =>
      layers.addLinear(normalized, `${attention}/linear_0`, { from: part * width, to: (part + 1) * width }),
    );
    const attended = graph.addNode('MultiHeadAttention', queryKeyValue, {
      attributes: { num_heads: heads },
      domain: MICROSOFT_DOMAIN,
    });
    x = layers.addFeedForward(
      graph.addNode('Add', [x, layers.addLinear(attended, `${attention}/linear_1`)]),
      `${name}/ffn`,
    );
  }
  const encoded = layers.addLayerNorm(x, 'encoder/layer_norm');
  for (let layer = 0; layer < decoderLayers; layer++) {
    for (const [part, keyOrValue] of ['key', 'value'].entries()) {
      const output = `cross.${layer}.${keyOrValue}`;
      const variable = `decoder/layer_${layer}/attention/linear_1`;
      const rows = { from: part * width, to: (part + 1) * width };
      graph.addNode('Identity', [layers.splitHeads(layers.addLinear(encoded, variable, rows))], { output });
      graph.addOutput(output, 'float', ['batch_size', heads, frames, headWidth]);
    }
  }
}
