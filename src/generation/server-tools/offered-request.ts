import type { Tool } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { codeTool, withCodeTool } from './code-tool.ts';

/** What a run of the model is asked: no wish for what runs here, and the tool that it calls to run programs where it may. */
export const offering = (request: GenerationRequest, tool: Tool | undefined): GenerationRequest => {
  const { serverTools: _, ...plain } = request;
  const toolUse = tool && withCodeTool(request.toolUse, tool);
  return toolUse ? { ...plain, toolUse } : plain;
};

/** Wishes that the request's own tools leave no room for, by their names. */
export const unofferedIn = ({ serverTools, toolUse }: GenerationRequest): readonly string[] =>
  serverTools?.code && !withCodeTool(toolUse, codeTool(toolUse?.tools ?? [])) ? ['enable_code_interpreter'] : [];
