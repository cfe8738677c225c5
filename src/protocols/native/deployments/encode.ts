import type { DeploymentRecord } from '../../../core/deployment.ts';
import type { DeploymentChange } from '../../../resources/deployments/deployment.ts';
import type { PageRequest } from '../page.ts';
import { WIRE_STATUSES } from './schema.ts';

export interface TimeFormatter {
  /** Formats UTC milliseconds as `YYYY-MM-DD HH:MM:SS` in the service's time zone. */
  readonly format: (ms: number) => string;
}

/** Parley does not bill, so nothing is paid in advance. */
const CHARGE_TYPE = 'post_paid';

/** Encodes the documented record: every field is present, in order (docs/wire/dashscope-native.md#deployments). */
const encodeRecord = (record: DeploymentRecord, time: TimeFormatter): object => ({
  deployed_model: record.name,
  gmt_create: formatIsoTime(record.createdAt, time),
  gmt_modified: formatIsoTime(record.modifiedAt, time),
  status: WIRE_STATUSES[record.status],
  model_name: record.modelName,
  base_model: record.baseModel,
  base_capacity: record.baseCapacity,
  capacity: record.capacity,
  ready_capacity: record.readyCapacity,
  workspace_id: record.workspace,
  charge_type: CHARGE_TYPE,
  creator: record.creator,
  modifier: record.modifier,
  name: record.spec.displayName ?? '',
  plan: record.plan,
  model_unit_spec: record.spec.deploySpec ?? '',
  enable_thinking: record.spec.enableThinking ?? false,
  max_context_length: record.spec.maxContextLength ?? null,
  rpm_limit: record.rpmLimit ?? null,
  tpm_limit: record.tpmLimit ?? null,
  ptu_capacity: record.ptu
    ? {
        input_tpm: record.ptu.inputTpm,
        output_tpm: record.ptu.outputTpm,
        thinking_output_tpm: record.ptu.thinkingOutputTpm,
      }
    : null,
});

const formatIsoTime = (ms: number, { format }: TimeFormatter): string => format(ms).replace(' ', 'T');

export const encodeDeployment = (record: DeploymentRecord, time: TimeFormatter, requestId: string): object => ({
  request_id: requestId,
  output: encodeRecord(record, time),
});

export const encodeDeploymentList = (
  { total, deployments }: { readonly total: number; readonly deployments: readonly DeploymentRecord[] },
  { number, size }: PageRequest,
  time: TimeFormatter,
  requestId: string,
): object => ({
  request_id: requestId,
  output: {
    page_no: number,
    page_size: size,
    total,
    deployments: deployments.map((record) => encodeRecord(record, time)),
  },
});

/** Encodes the record after a change, and the change: only here does the deployment's owner see its reason. */
export const encodeChange = ({ record, event }: DeploymentChange, time: TimeFormatter, requestId: string): object => ({
  request_id: requestId,
  output: {
    ...encodeRecord(record, time),
    event: {
      number: event.number,
      time: formatIsoTime(event.at, time),
      type: event.transition,
      from: event.from ? WIRE_STATUSES[event.from] : '',
      to: WIRE_STATUSES[event.to],
      reason: event.reason,
      modifier: event.keyId ?? '',
    },
  },
});
