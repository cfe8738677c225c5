import type { DeploymentRecord } from '../../../core/deployment.ts';
import type { DeploymentChange } from '../../../resources/deployments/deployment.ts';
import type { Page } from '../page.ts';
import { WIRE_STATUSES } from './schema.ts';

export interface DeploymentWords {
  /** `YYYY-MM-DD HH:MM:SS` in the service's zone. */
  readonly show: (ms: number) => string;
}

/** Nothing is paid here; nothing was paid ahead. */
const CHARGE_TYPE = 'post_paid';

/** Specification, "Deployment", and wire.md E8.1: in its order, each field always there, strings never null. */
const encodeRecord = (record: DeploymentRecord, words: DeploymentWords): object => ({
  deployed_model: record.name,
  gmt_create: isoTime(record.createdAt, words),
  gmt_modified: isoTime(record.modifiedAt, words),
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

const isoTime = (ms: number, { show }: DeploymentWords): string => show(ms).replace(' ', 'T');

export const encodeDeployment = (record: DeploymentRecord, words: DeploymentWords, requestId: string): object => ({
  request_id: requestId,
  output: encodeRecord(record, words),
});

export const encodeDeploymentPage = (
  { total, deployments }: { readonly total: number; readonly deployments: readonly DeploymentRecord[] },
  { number, size }: Page,
  words: DeploymentWords,
  requestId: string,
): object => ({
  request_id: requestId,
  output: {
    page_no: number,
    page_size: size,
    total,
    deployments: deployments.map((record) => encodeRecord(record, words)),
  },
});

/** The record as it was after an event, and the event: nowhere else are its owner's eyes on why. */
export const encodeChange = (
  { record, event }: DeploymentChange,
  words: DeploymentWords,
  requestId: string,
): object => ({
  request_id: requestId,
  output: {
    ...encodeRecord(record, words),
    event: {
      number: event.number,
      time: isoTime(event.at, words),
      type: event.move,
      from: event.from ? WIRE_STATUSES[event.from] : '',
      to: WIRE_STATUSES[event.to],
      reason: event.reason,
      modifier: event.keyId ?? '',
    },
  },
});
