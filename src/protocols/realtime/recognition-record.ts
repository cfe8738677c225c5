import type { ServiceError } from '../../core/error.ts';
import type { Log, Meter } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { FAMILIES } from '../families.ts';
import type { SocketContext } from '../socket-endpoint.ts';

/** Writes down how a recognition ended, and with what facts. To be called once. */
export type Settle = (error: ServiceError | undefined, facts?: object) => void;

export interface RecordNeeds {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'recognitionStarted'>;
}

/** One recognition in log and metrics, from its run-task on. */
export function recordRecognition(
  { taskId, model }: { readonly taskId: string; readonly model: string },
  { requestId, owner }: SocketContext,
  { clock, log, meter }: RecordNeeds,
): Settle {
  const startedAt = clock.monotonic();
  const ended = meter.recognitionStarted();
  return (error, facts = {}) => {
    const kind = error?.kind ?? 'none';
    ended(kind);
    const { region, workspace, keyId } = owner;
    const durationMs = Math.round(clock.monotonic() - startedAt);
    const line = {
      requestId,
      taskId,
      model: model.slice(0, 128),
      kind,
      param: error?.param,
      region,
      workspace,
      keyId,
      durationMs,
      ...facts,
    };
    if (error && FAMILIES.native.status(error.kind) >= 500) log.error('recognition', { ...line, error });
    else log.info('recognition', line);
  };
}
