/** Quotas per minute, by their names in the API. */
export const QUOTA_KINDS = ['rpm_limit', 'tpm_limit', 'input_tpm', 'output_tpm', 'thinking_output_tpm'] as const;

export type QuotaKind = (typeof QUOTA_KINDS)[number];

/** Limits per minute, from 0. Absent: no limit. */
export type QuotaLimits = { readonly [Kind in QuotaKind]?: number | undefined };

export type QuotaAmounts = { readonly [Kind in QuotaKind]?: number | undefined };
