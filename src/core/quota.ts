/** What may be limited per minute, by the names that callers know it by. */
export const QUOTA_KINDS = ['rpm_limit', 'tpm_limit', 'input_tpm', 'output_tpm', 'thinking_output_tpm'] as const;

export type QuotaKind = (typeof QUOTA_KINDS)[number];

/** Per minute, from 0. */
export type QuotaLimits = { readonly [Kind in QuotaKind]?: number | undefined };

export type QuotaAmounts = { readonly [Kind in QuotaKind]?: number | undefined };
