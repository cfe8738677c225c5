import { OpusDecoder } from 'opus-decoder';
import { AUDIO_CHANNELS_MAX } from '../../core/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import { damaged, unsupported } from '../unreadable.ts';
import type { OggCodec } from './ogg-codec.ts';

/** Positions count at this rate, whatever is decoded: RFC 7845, 4. */
const POSITION_RATE = 48_000;

/** libopus takes no more: 120 ms at the highest rate of each stream. */
const PACKET_BYTES_MAX = 61_295;

/** A stream of Opus, of which the first packet is given: RFC 7845, 5.1. The second one, tags, is skipped. @throws Unreadable */
export async function openOpus(head: Uint8Array): Promise<OggCodec> {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (head.length < 19) throw damaged('has a head that is none');
  if ((head[8] ?? 0) >> 4 !== 0) throw unsupported('is Opus of another version');
  const channels = head[9] ?? 0;
  if (channels === 0) throw damaged('has a head that is none');
  if (channels > AUDIO_CHANNELS_MAX) throw unsupported(`has ${channels} channels, of 1 to ${AUDIO_CHANNELS_MAX}`);
  const skippedAtFirst = view.getUint16(10, true);
  const gain = 10 ** (view.getInt16(16, true) / 256 / 20);
  const layout = readLayout(head, channels);
  const decoder = new OpusDecoder({ sampleRate: SPEECH_SAMPLE_RATE, channels, preSkip: 0, ...layout });
  await decoder.ready;

  let toSkip = Math.round((skippedAtFirst * SPEECH_SAMPLE_RATE) / POSITION_RATE);
  let packets = 0;
  return {
    samplesAt: (position) =>
      Math.max(0, Math.round(((position - skippedAtFirst) * SPEECH_SAMPLE_RATE) / POSITION_RATE)),
    close: () => decoder.free(),
    push(packet) {
      if (packets++ === 0) return undefined;
      if (packet.length === 0 || packet.length > PACKET_BYTES_MAX) throw damaged('has a packet that is none');
      const { channelData, samplesDecoded } = decoder.decodeFrame(packet);
      if (samplesDecoded === 0) throw damaged('has a packet that is none');
      const from = Math.min(toSkip, samplesDecoded);
      toSkip -= from;
      const kept = channelData.map((samples) => samples.slice(from, samplesDecoded));
      if (gain !== 1)
        for (const samples of kept) for (let n = 0; n < samples.length; n++) samples[n] = (samples[n] ?? 0) * gain;
      return { sampleRate: SPEECH_SAMPLE_RATE, channels: kept };
    },
  };
}

interface Layout {
  readonly streamCount: number;
  readonly coupledStreamCount: number;
  readonly channelMappingTable: number[];
}

/** Which of its streams a channel comes from. */
function readLayout(head: Uint8Array, channels: number): Layout {
  if ((head[18] ?? 0) === 0) {
    if (channels > 2) throw damaged('has a head that is none');
    return { streamCount: 1, coupledStreamCount: channels - 1, channelMappingTable: channels === 1 ? [0] : [0, 1] };
  }
  const [streamCount = 0, coupledStreamCount = 0] = head.subarray(19, 21);
  const channelMappingTable = [...head.subarray(21, 21 + channels)];
  const sources = streamCount + coupledStreamCount;
  const isWhole =
    channelMappingTable.length === channels && channelMappingTable.every((from) => from < sources || from === 255);
  if (streamCount === 0 || coupledStreamCount > streamCount || sources > AUDIO_CHANNELS_MAX || !isWhole)
    throw damaged('has a head that is none');
  return { streamCount, coupledStreamCount, channelMappingTable };
}
