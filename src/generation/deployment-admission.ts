import { LRUCache } from 'lru-cache';
import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import { QUOTA_REQUESTS_TRACKED_MAX } from './limits.ts';
import type { QuotaAmounts, QuotaLimits } from '../core/quota.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import type { Admission, AdmissionRequest, Permit } from './admission.ts';
import type { Quotas, QuotaShortage } from './quotas.ts';

export interface DeploymentAdmissionDeps {
  readonly quotas: Quotas;
  /** Admission that every request passes first. */
  readonly inner: Admission;
  /** Called when a run of a deployment starts; the returned function is called when it ends. */
  readonly onRunStart?: (deployment: DeploymentRecord) => () => void;
}

/**
 * Applies the limits and reservations of deployments. Calls within a reservation come first in the queues of the engine
 * that the deployment shares.
 *
 * All runs of one request count as one request of `rpm_limit`. Only the first run may be rejected: a request that has
 * started is not interrupted.
 */
export function createDeploymentAdmission({ quotas, inner, onRunStart }: DeploymentAdmissionDeps): Admission {
  /** Ids of requests whose first run was admitted. */
  const admittedRequests = new LRUCache<string, true>({ max: QUOTA_REQUESTS_TRACKED_MAX });

  const createMeter = (deployment: DeploymentRecord, { requestId }: AdmissionRequest, limits: QuotaLimits) => {
    const subject = deployment.id;
    let countedInputTokens: number | undefined;
    let answerTokens = 0;
    let thinkingTokens = 0;
    const spend = (tokens: { readonly input?: number; readonly output?: number; readonly thinking?: number }): void => {
      const { input: read = 0, output = 0, thinking = 0 } = tokens;
      if (read === 0 && output === 0 && thinking === 0) return;
      const all = read + output + thinking;
      quotas.spend(subject, { tpm_limit: all, input_tpm: read, output_tpm: output, thinking_output_tpm: thinking });
    };
    const usageMeter: Permit['usageMeter'] = {
      async start({ promptTokens = 0, thinks }) {
        const isLaterRun = admittedRequests.get(requestId) === true;
        const amounts: QuotaAmounts = {
          rpm_limit: 1,
          tpm_limit: promptTokens,
          input_tpm: promptTokens,
          output_tpm: 0,
          ...(thinks ? { thinking_output_tpm: 0 } : {}),
        };
        if (isLaterRun) spend({ input: promptTokens });
        else {
          const shortage = await quotas.take({ subject, limits, amounts });
          if (shortage) throw createQuotaError(deployment, shortage);
          admittedRequests.set(requestId, true);
        }
        countedInputTokens = promptTokens;
      },
      recordOutput(tokens, kind) {
        if (kind === 'thought') {
          thinkingTokens += tokens;
          spend({ thinking: tokens });
        } else {
          answerTokens += tokens;
          spend({ output: tokens });
        }
      },
    };
    const settle: Permit['release'] = ({ promptTokens, completionTokens, reasoningTokens = 0 }, outcome) => {
      if (countedInputTokens === undefined) return;
      // Only a finished run reports the tokens of its whole answer.
      const hasFinalUsage = outcome === 'finished';
      spend({
        input: promptTokens - countedInputTokens,
        output: hasFinalUsage ? completionTokens - reasoningTokens - answerTokens : 0,
        thinking: hasFinalUsage ? reasoningTokens - thinkingTokens : 0,
      });
    };
    return { count: usageMeter, settle };
  };

  return {
    async admit(request) {
      const { deployment, priority } = request;
      const permit = await inner.admit(request);
      if (!deployment) return permit;
      const onRunEnd = onRunStart?.(deployment);
      const limits = getQuotaLimits(deployment);
      const isReserved = deployment.plan === 'ptu' && priority !== 'background';
      const { count, settle } = createMeter(deployment, request, limits);
      return {
        ...permit,
        ...(isReserved ? { priority: 'reserved' } : {}),
        ...(Object.keys(limits).length > 0 ? { usageMeter: count } : {}),
        release(usage, outcome) {
          onRunEnd?.();
          settle(usage, outcome);
          permit.release(usage, outcome);
        },
      };
    },
  };
}

const getQuotaLimits = ({ rpmLimit, tpmLimit, ptu }: DeploymentRecord): QuotaLimits =>
  omitNullish({
    rpm_limit: rpmLimit,
    tpm_limit: tpmLimit,
    input_tpm: ptu?.inputTpm,
    output_tpm: ptu?.outputTpm,
    thinking_output_tpm: ptu?.thinkingOutputTpm,
  });

function createQuotaError({ name }: DeploymentRecord, { kind, limit, retryAfterSeconds }: QuotaShortage): ServiceError {
  const countsRequests = kind === 'rpm_limit';
  // The API's own texts come first: docs/wire/dashscope-native.md#errors.
  const prescribedText = countsRequests
    ? 'Requests rate limit exceeded, please try again later.'
    : 'Allocated quota exceeded, please increase your quota limit.';
  const rule = `${kind}: deployment ${name} has ${limit} ${countsRequests ? 'requests' : 'tokens'} per minute`;
  const when = limit === 0 ? '' : `; enough are available again in ${retryAfterSeconds} s`;
  return new ServiceError(countsRequests ? 'rate-limited' : 'token-quota', `${prescribedText} (${rule}${when})`, {
    retryAfterSeconds,
  });
}
