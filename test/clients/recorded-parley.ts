import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { type Exchange, type RecorderOptions, startRecorder } from './recorder.ts';

export interface RecordedParley extends Parley {
  readonly exchanges: readonly Exchange[];
}

/** A Parley whose address is that of a recorder before it. */
export const startRecordedParley = async (options?: ParleyOptions): Promise<RecordedParley> =>
  await recorded(await startParley(options));

/** The same Parley, behind a recorder that ends with it. */
export async function recorded(parley: Parley, options?: RecorderOptions): Promise<RecordedParley> {
  const recorder = await startRecorder(parley.address, options);
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
