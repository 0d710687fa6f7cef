import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  type ApiBodyOptions,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  type OpenAPIObject,
} from '@nestjs/swagger';
import { z } from 'zod';
import { PROBLEMS, type ProblemCode } from './problem.table.js';

type Schema = z.ZodType;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type OpenApiSchema = Exclude<Schemas[string], { $ref: string }>;

/** What the API document says of a route; the schemas are those that the services check by. */
export interface OperationDoc {
  summary: string;
  description?: string;
  params?: Readonly<Record<string, Schema>>;
  query?: z.ZodObject;
  /** The JSON body; with `bodyRequired` absent it may be left out. */
  body?: Schema;
  bodyRequired?: boolean;
  /** Other media types of the body, with an example each. */
  otherBodies?: Readonly<Record<string, string>>;
  /** Status -> what is answered; null for an empty body. */
  answers: Readonly<Record<number, Schema | null>>;
  problems?: readonly ProblemCode[];
}

/** Describes a route in the API document. */
export function Operation(doc: OperationDoc): MethodDecorator {
  const { summary, description = '', params = {}, answers } = doc;
  const queryProperties = doc.query ? (Object.entries(doc.query.shape) as [string, Schema][]) : [];
  return applyDecorators(
    ApiOperation({ summary, description }),
    ...Object.entries(params).map(([name, schema]) => ApiParam({ name, schema: openApiOf(schema) })),
    ...queryProperties.map(([name, schema]) => queryDoc(name, schema)),
    ...(doc.body ? [bodyDoc(doc, doc.body)] : []),
    ...Object.entries(answers).map(([status, schema]) => answerDoc(Number(status), schema)),
    ...problemDocs(['VALIDATION_FAILED', 'REDIS_UNAVAILABLE', ...(doc.problems ?? [])]),
  );
}

/** A schema as OpenAPI 3.0 writes it. */
export function openApiOf(schema: Schema, io: 'input' | 'output' = 'input'): OpenApiSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { target: 'openapi-3.0', io, unrepresentable: 'any' });
  return rest as OpenApiSchema;
}

function queryDoc(name: string, schema: Schema): MethodDecorator {
  const { description, ...rest } = openApiOf(schema);
  return ApiQuery({ name, required: false, description: description ?? '', schema: rest });
}

function bodyDoc({ bodyRequired = false, otherBodies = {} }: OperationDoc, schema: Schema): MethodDecorator {
  const json = { 'application/json': { schema: openApiOf(schema) as object } };
  const others = Object.entries(otherBodies).map(([type, example]): [string, object] => [
    type,
    { schema: { type: 'string', example } },
  ]);
  // Its type leaves out `content`, which the document takes over as it is.
  return ApiBody({ required: bodyRequired, content: { ...json, ...Object.fromEntries(others) } } as ApiBodyOptions);
}

function answerDoc(status: number, schema: Schema | null): MethodDecorator {
  if (!schema) return ApiResponse({ status, description: 'Done' });
  return ApiResponse({
    status,
    description: 'Done',
    content: { 'application/json': { schema: openApiOf(schema, 'output') } },
  });
}

/** One answer a status; it lists the codes. */
function problemDocs(codes: readonly ProblemCode[]): MethodDecorator[] {
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))];
  return statuses.map((status) => {
    const names = codes.filter((code) => PROBLEMS[code].status === status);
    const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
    return ApiResponse({ status, description: [...new Set(names)].join(', '), content });
  });
}
