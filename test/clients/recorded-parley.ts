import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { type Exchange, type RecordingProxyOptions, startRecordingProxy } from './recording-proxy.ts';

export interface RecordedParley extends Parley {
  readonly exchanges: readonly Exchange[];
}

/** Starts a Parley behind a recording proxy; its address is the one of the proxy. */
export const startRecordedParley = async (options?: ParleyOptions): Promise<RecordedParley> =>
  await openRecordedParley(await startParley(options));

/** Puts a recording proxy in front of a Parley. `stop` stops both. */
export async function openRecordedParley(parley: Parley, options?: RecordingProxyOptions): Promise<RecordedParley> {
  const recorder = await startRecordingProxy(parley.address, options);
  return {
    ...parley,
    address: recorder.address,
    baseUrl: `${recorder.address}/compatible-mode/v1`,
    exchanges: recorder.exchanges,
    async stop() {
      await recorder.stop();
      await parley.stop();
    },
  };
}
