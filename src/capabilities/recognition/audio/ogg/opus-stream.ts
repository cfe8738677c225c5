import { OpusDecoder } from 'opus-decoder';
import { AUDIO_CHANNELS_MAX } from '../limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../../core/speech.ts';
import { createDamagedError, createUnsupportedError, createChannelsError } from '../audio-decoding-error.ts';
import type { OggStreamDecoder } from './ogg-stream-decoder.ts';

/** Rate of granule positions in Hz, independent of the decoder's rate (RFC 7845, section 4). */
const GRANULE_RATE = 48_000;

/** Maximum packet size of libopus: 120 ms at the highest bit rate of each stream. */
const PACKET_BYTES_MAX = 61_295;

/**
 * Opens an Opus stream by its first packet (RFC 7845, section 5.1). Skips the second packet, tags.
 * @throws AudioDecodingError
 */
export async function openOpusStream(head: Uint8Array): Promise<OggStreamDecoder> {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (head.length < 19) throw createDamagedError('has an invalid header');
  if ((head[8] ?? 0) >> 4 !== 0) throw createUnsupportedError('is Opus of an unsupported version');
  const channels = head[9] ?? 0;
  if (channels === 0) throw createDamagedError('has an invalid header');
  if (channels > AUDIO_CHANNELS_MAX) throw createChannelsError(channels);
  const preSkip = view.getUint16(10, true);
  const gain = 10 ** (view.getInt16(16, true) / 256 / 20);
  const layout = parseChannelLayout(head, channels);
  const decoder = new OpusDecoder({ sampleRate: SPEECH_SAMPLE_RATE, channels, preSkip: 0, ...layout });
  await decoder.ready;

  let samplesToSkip = Math.round((preSkip * SPEECH_SAMPLE_RATE) / GRANULE_RATE);
  let packetCount = 0;
  return {
    granuleToSamples: (position) => Math.max(0, Math.round(((position - preSkip) * SPEECH_SAMPLE_RATE) / GRANULE_RATE)),
    close: () => decoder.free(),
    push(packet) {
      if (packetCount++ === 0) return undefined;
      if (packet.length === 0 || packet.length > PACKET_BYTES_MAX) throw createDamagedError('has an invalid packet');
      const { channelData, samplesDecoded } = decoder.decodeFrame(packet);
      if (samplesDecoded === 0) throw createDamagedError('has an invalid packet');
      const from = Math.min(samplesToSkip, samplesDecoded);
      samplesToSkip -= from;
      const keptChannels = channelData.map((samples) => samples.slice(from, samplesDecoded));
      if (gain !== 1)
        for (const samples of keptChannels)
          for (let n = 0; n < samples.length; n++) samples[n] = (samples[n] ?? 0) * gain;
      return { sampleRate: SPEECH_SAMPLE_RATE, channels: keptChannels };
    },
  };
}

interface Layout {
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
}

/** Parses the mapping of channels to Opus streams. */
function parseChannelLayout(head: Uint8Array, channels: number): Layout {
  if ((head[18] ?? 0) === 0) {
    if (channels > 2) throw createDamagedError('has an invalid header');
    return { streamCount: 1, coupledStreamCount: channels - 1, channelMappingTable: channels === 1 ? [0] : [0, 1] };
  }
  const [streamCount = 0, coupledStreamCount = 0] = head.subarray(19, 21);
  const channelMappingTable = [...head.subarray(21, 21 + channels)];
  const sourceCount = streamCount + coupledStreamCount;
  const isValid =
    channelMappingTable.length === channels && channelMappingTable.every((from) => from < sourceCount || from === 255);
  if (streamCount === 0 || coupledStreamCount > streamCount || sourceCount > AUDIO_CHANNELS_MAX || !isValid)
    throw createDamagedError('has an invalid header');
  return { streamCount, coupledStreamCount, channelMappingTable };
}
