import { z } from 'zod';
import type { Answer, Delivery } from './answers.ts';
import type { Switches } from './faults/switches.ts';

const errorBody = z.object({ status: z.int(), errors: z.tuple([z.looseObject({})], z.looseObject({})) });
type ErrorBody = z.output<typeof errorBody>;

/** A delivery as this service writes all of its answers: error bodies in its shape, `Date` and `Content-Type` as switched. */
export function styled(delivery: Delivery, switches: Switches, now: number): Delivery {
  if (!('answer' in delivery)) return delivery;
  const { status, headers, body } = delivery.answer;
  const { 'Content-Type': contentType, ...others } = headers;
  return {
    ...delivery,
    answer: {
      status,
      body: status >= 400 ? reshaped(body, switches.errorShape) : body,
      headers: {
        ...(switches.withoutDate ? {} : { Date: new Date(now + switches.dateSkewMs).toUTCString() }),
        ...(switches.withoutContentType || contentType === undefined ? {} : { 'Content-Type': contentType }),
        ...others,
      },
    },
  };
}

/** The variants that the service documents. */
const SHAPES: Readonly<Record<Exclude<Switches['errorShape'], 'array'>, (body: ErrorBody) => object>> = {
  object: ({ status, errors }) => ({ status, errors: errors[0] }),
  flat: ({ status, errors }) => ({ ...errors[0], status }),
  'string-status': ({ status, errors }) => ({ status: String(status), errors }),
};

/** What is no error body of ours (the token endpoint's, a gateway's page) stays as it is. */
function reshaped(body: Answer['body'], shape: Switches['errorShape']): string {
  if (shape === 'array' || !body.startsWith('{')) return body;
  const parsed = errorBody.safeParse(JSON.parse(body));
  return parsed.success ? JSON.stringify(SHAPES[shape](parsed.data)) : body;
}
