import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { type Exchange, startRecorder } from './recorder.ts';

export interface RecordedParley extends Parley {
  readonly exchanges: readonly Exchange[];
}

/** A Parley whose address is that of a recorder before it. */
export async function startRecordedParley(options?: ParleyOptions): Promise<RecordedParley> {
  const parley = await startParley(options);
  const recorder = await startRecorder(parley.address);
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
