import type { ChannelSelection } from './audio.ts';
import { createUnsupportedError } from './audio-decoding-error.ts';

/** Mixes the channels, or returns one of them. @throws AudioDecodingError if the channel does not exist. */
export function selectChannel(channels: readonly Float32Array[], selection: ChannelSelection): Float32Array {
  if (selection !== 'mix') {
    const chosen = channels[selection];
    if (!chosen) throw createUnsupportedError(`has ${channels.length} channels; channel ${selection} does not exist`);
    return chosen;
  }
  const [first, ...others] = channels;
  if (!first || others.length === 0) return first ?? new Float32Array();
  const mixed = Float32Array.from(first);
  for (const other of others) for (let n = 0; n < mixed.length; n++) mixed[n] = (mixed[n] ?? 0) + (other[n] ?? 0);
  for (let n = 0; n < mixed.length; n++) mixed[n] = (mixed[n] ?? 0) / channels.length;
  return mixed;
}
