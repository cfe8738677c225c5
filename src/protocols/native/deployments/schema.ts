import { z } from 'zod';
import type { DeploymentStatus } from '../../../core/deployment.ts';
import {
  DEPLOYMENT_CONTEXT_TOKENS_MAX,
  DEPLOYMENT_CONTEXT_TOKENS_MIN,
  DEPLOYMENT_PER_MINUTE_MAX,
  DEPLOYMENT_TEXT_CHARS_MAX,
  PAGE_SIZE_MAX,
} from '../limits.ts';
import { createPageFields } from '../page.ts';

/** From the specification (docs/wire/dashscope-native.md#deployments). */
const PAGE_SIZE_DEFAULT = 50;

const pageFields = createPageFields(PAGE_SIZE_MAX, PAGE_SIZE_DEFAULT);

/** Statuses that clients know (docs/wire/dashscope-native.md#deployments). */
export const WIRE_STATUSES: Readonly<Record<DeploymentStatus, string>> = {
  pending: 'PENDING',
  deploying: 'DEPLOYING',
  running: 'RUNNING',
  updating: 'UPDATING',
  stopped: 'STOPPED',
  failed: 'FAILED',
  deleting: 'DELETING',
};

export const ListQuery = z.object({ ...pageFields, status: z.enum(Object.values(WIRE_STATUSES)).optional() });

export const ModelsQuery = z.object({
  ...pageFields,
  version: z.string().optional(),
  model_source: z.enum(['base', 'custom']).optional(),
});

const text = z.string().max(DEPLOYMENT_TEXT_CHARS_MAX);

const createPerMinuteField = (min: number) => z.int().min(min).max(DEPLOYMENT_PER_MINUTE_MAX);

/** Unchecked here: the rule depends on plan and model, and the error text is the specification's for any value. */
const capacity = z.unknown().optional();

const PtuCapacity = z.object({
  input_tpm: createPerMinuteField(0),
  output_tpm: createPerMinuteField(0),
  /** Required for a model that thinks. */
  thinking_output_tpm: createPerMinuteField(0).nullish(),
});

const limits = { rpm_limit: createPerMinuteField(1).nullish(), tpm_limit: createPerMinuteField(1).nullish() };

/** Body of a creation (docs/wire/dashscope-native.md#deployments). */
export const CreateBody = z.object({
  model_name: z.string().min(1),
  capacity,
  ptu_capacity: PtuCapacity.nullish(),
  plan: z.string().nullish(),
  suffix: z.string().nullish(),
  name: text.nullish(),
  /** Its type differs between client libraries. */
  deploy_spec: z.union([text, z.record(z.string(), z.unknown())]).nullish(),
  template_id: text.nullish(),
  billing_method: text.nullish(),
  charge_type: text.nullish(),
  pre_paid_info: z.unknown().optional(),
  enable_thinking: z.boolean().nullish(),
  max_context_length: z.int().min(DEPLOYMENT_CONTEXT_TOKENS_MIN).max(DEPLOYMENT_CONTEXT_TOKENS_MAX).nullish(),
  ...limits,
  service_tier: text.nullish(),
  model_version: text.nullish(),
});
export type CreateWire = z.output<typeof CreateBody>;

/** Some clients repeat the deployment's name from the path. */
export const ScaleBody = z.object({
  deployed_model: z.string().nullish(),
  capacity,
  ptu_capacity: PtuCapacity.nullish(),
});

export const ThrottleBody = z.object({ deployed_model: z.string().nullish(), ...limits });
export type ThrottleWire = z.output<typeof ThrottleBody>;
