import type { ServiceError } from '../../../core/error.ts';
import type { Log, Meter } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import { FAMILIES } from '../../../protocols/families.ts';
import type { SocketContext } from '../../../protocols/socket-endpoint.ts';

/** Logs and counts the end of a recognition, with additional log fields. Must be called once. */
export type FinishRecognitionRecord = (error: ServiceError | undefined, fields?: object) => void;

export interface RecognitionRecordDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'trackRecognition'>;
}

/** Starts recording one recognition in log and metrics. */
export function startRecognitionRecord(
  { taskId, model }: { readonly taskId: string; readonly model: string },
  { requestId, owner }: SocketContext,
  { clock, log, meter }: RecognitionRecordDeps,
): FinishRecognitionRecord {
  const startedAt = clock.monotonic();
  const stopTracking = meter.trackRecognition();
  return (error, fields = {}) => {
    const kind = error?.kind ?? 'none';
    stopTracking(kind);
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
      ...fields,
    };
    if (error && FAMILIES.native.getStatus(error.kind) >= 500) log.error('recognition', { ...line, error });
    else log.info('recognition', line);
  };
}
