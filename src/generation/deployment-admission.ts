import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import { QUOTA_REQUESTS_MAX } from '../core/limits.ts';
import type { QuotaAmounts, QuotaLimits } from '../core/quota.ts';
import { createLru } from '../lib/lru.ts';
import { present } from '../lib/present.ts';
import type { Admission, AdmissionWish, Permit } from './admission.ts';
import type { Quotas, QuotaShortage } from './quotas.ts';

export interface DeploymentAdmissionNeeds {
  readonly quotas: Quotas;
  /** Of all requests, whatever they ask for. */
  readonly inner: Admission;
  /** A run of a deployment begins: what comes back is called when it is over. */
  readonly running?: (deployment: DeploymentRecord) => () => void;
}

/**
 * Holds calls of deployments to what these reserve and are limited to. Calls within a reservation go before all others in
 * the queues of the engine that they share.
 *
 * The runs that one request is made of count as one of `rpm_limit`, and only the first of them may be refused: what is
 * running is not cut.
 */
export function createDeploymentAdmission({ quotas, inner, running }: DeploymentAdmissionNeeds): Admission {
  /** Requests whose first run was admitted. */
  const begun = createLru<true>({ entriesMax: QUOTA_REQUESTS_MAX, weightMax: Infinity });

  const counted = (deployment: DeploymentRecord, { requestId }: AdmissionWish, limits: QuotaLimits) => {
    const subject = deployment.id;
    let input: number | undefined;
    let answered = 0;
    let thought = 0;
    const spend = (tokens: { readonly input?: number; readonly output?: number; readonly thinking?: number }): void => {
      const { input: read = 0, output = 0, thinking = 0 } = tokens;
      if (read === 0 && output === 0 && thinking === 0) return;
      const all = read + output + thinking;
      quotas.spend(subject, { tpm_limit: all, input_tpm: read, output_tpm: output, thinking_output_tpm: thinking });
    };
    const count: Permit['count'] = {
      async begin({ promptTokens = 0, thinks }) {
        const isPart = begun.get(requestId) === true;
        const amounts: QuotaAmounts = {
          rpm_limit: 1,
          tpm_limit: promptTokens,
          input_tpm: promptTokens,
          output_tpm: 0,
          ...(thinks ? { thinking_output_tpm: 0 } : {}),
        };
        if (isPart) spend({ input: promptTokens });
        else {
          const shortage = await quotas.take({ subject, limits, amounts });
          if (shortage) throw usedUp(deployment, shortage);
          begun.set(requestId, true, 0);
        }
        input = promptTokens;
      },
      produced(tokens, kind) {
        if (kind === 'thought') {
          thought += tokens;
          spend({ thinking: tokens });
        } else {
          answered += tokens;
          spend({ output: tokens });
        }
      },
    };
    const settle: Permit['release'] = ({ promptTokens, completionTokens, reasoningTokens = 0 }, how) => {
      if (input === undefined) return;
      // Only a run that finished has told what its answer took in all.
      const isTold = how === 'finished';
      spend({
        input: promptTokens - input,
        output: isTold ? completionTokens - reasoningTokens - answered : 0,
        thinking: isTold ? reasoningTokens - thought : 0,
      });
    };
    return { count, settle };
  };

  return {
    async admit(request) {
      const { deployment, priority } = request;
      const permit = await inner.admit(request);
      if (!deployment) return permit;
      const over = running?.(deployment);
      const limits = limitsOf(deployment);
      const isReserved = deployment.plan === 'ptu' && priority !== 'background';
      const { count, settle } = counted(deployment, request, limits);
      return {
        ...permit,
        ...(isReserved ? { priority: 'reserved' } : {}),
        ...(Object.keys(limits).length > 0 ? { count } : {}),
        release(usage, how) {
          over?.();
          settle(usage, how);
          permit.release(usage, how);
        },
      };
    },
  };
}

const limitsOf = ({ rpmLimit, tpmLimit, ptu }: DeploymentRecord): QuotaLimits =>
  present({
    rpm_limit: rpmLimit,
    tpm_limit: tpmLimit,
    input_tpm: ptu?.inputTpm,
    output_tpm: ptu?.outputTpm,
    thinking_output_tpm: ptu?.thinkingOutputTpm,
  });

function usedUp({ name }: DeploymentRecord, { kind, limit, retryAfterSeconds }: QuotaShortage): ServiceError {
  const isOfRequests = kind === 'rpm_limit';
  // wire.md 1.7 has the first sentences.
  const known = isOfRequests
    ? 'Requests rate limit exceeded, please try again later.'
    : 'Allocated quota exceeded, please increase your quota limit.';
  const rule = `${kind}: deployment ${name} has ${limit} ${isOfRequests ? 'requests' : 'tokens'} per minute`;
  const when = limit === 0 ? '' : `, and enough of them again in ${retryAfterSeconds} s`;
  return new ServiceError(isOfRequests ? 'rate-limited' : 'token-quota', `${known} (${rule}${when})`, {
    retryAfterSeconds,
  });
}
