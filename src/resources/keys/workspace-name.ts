import { WORKSPACE_CHARS_MAX } from '../limits.ts';

/** Letters, digits and hyphens, because a workspace can be the first label of a host name. */
const WORKSPACE_PATTERN = new RegExp(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,${WORKSPACE_CHARS_MAX - 2}}[A-Za-z0-9])?$`);

export const isWorkspaceName = (text: string): boolean => WORKSPACE_PATTERN.test(text);
