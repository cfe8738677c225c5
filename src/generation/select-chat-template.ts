import type { LoadedModel } from '../engines/engine.ts';

/** Returns the template for a request: that for tools when the request offers some and the model has one. */
export const selectChatTemplate = (
  { chatTemplate, toolTemplate }: Pick<LoadedModel, 'chatTemplate' | 'toolTemplate'>,
  hasTools: boolean,
): string | undefined => (hasTools ? (toolTemplate ?? chatTemplate) : (chatTemplate ?? toolTemplate));
