# SPDX-License-Identifier: Apache-2.0
"""A model of bench/batch, for MLServer."""
import mlserver
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse

from batch_peer import Model


class MLModel(mlserver.MLModel):
    async def load(self):
        self.model = Model(self.name)
        return True

    async def predict(self, payload):
        given = {each.name: NumpyCodec.decode_input(each) for each in payload.inputs}
        found = self.model.run([given[name] for name, _, _ in self.model.inputs])
        return InferenceResponse(model_name=self.name, outputs=[
            NumpyCodec.encode_output(self.model.output, found)])
