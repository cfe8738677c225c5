import type { ChannelChoice } from './audio.ts';
import { unsupported } from './unreadable.ts';

/** One channel out of several: their mean, or one of them. @throws Unreadable where there is none of that number. */
export function mix(channels: readonly Float32Array[], choice: ChannelChoice): Float32Array {
  if (choice !== 'mix') {
    const chosen = channels[choice];
    if (!chosen) throw unsupported(`has ${channels.length} channels, and none of number ${choice}`);
    return chosen;
  }
  const [first, ...others] = channels;
  if (!first || others.length === 0) return first ?? new Float32Array();
  const mixed = Float32Array.from(first);
  for (const other of others) for (let n = 0; n < mixed.length; n++) mixed[n] = (mixed[n] ?? 0) + (other[n] ?? 0);
  for (let n = 0; n < mixed.length; n++) mixed[n] = (mixed[n] ?? 0) / channels.length;
  return mixed;
}
