import { Injectable } from '@nestjs/common';

/** How many calls this process has under way, of all pools and kinds. */
@Injectable()
export class CallTraffic {
  underWay = 0;
}
