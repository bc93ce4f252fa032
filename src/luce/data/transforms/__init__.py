"""Feature transforms: fitted on training data, applied block by block, stored with a ranker."""

from luce.data.transforms.base import Block as Block
from luce.data.transforms.base import Transform as Transform
from luce.data.transforms.base import blocks as blocks
from luce.data.transforms.base import width_after as width_after
from luce.data.transforms.chain import TRANSFORMS as TRANSFORMS
from luce.data.transforms.chain import apply_transforms as apply_transforms
from luce.data.transforms.chain import fit_transforms as fit_transforms
from luce.data.transforms.chain import make_transform as make_transform
from luce.data.transforms.chain import restore_transforms as restore_transforms
from luce.data.transforms.chain import transformed_names as transformed_names
from luce.data.transforms.chain import unfitted as unfitted
from luce.data.transforms.encoding import Encode as Encode
from luce.data.transforms.encoding import chain_of as chain_of
from luce.data.transforms.encoding import encoded as encoded
from luce.data.transforms.encoding import fit_encoded as fit_encoded
from luce.data.transforms.feature_products import SecondOrder as SecondOrder
from luce.data.transforms.list_scaling import ListMinMax as ListMinMax
from luce.data.transforms.list_scaling import ListZScore as ListZScore
from luce.data.transforms.scaling import Fill as Fill
from luce.data.transforms.scaling import Standardize as Standardize
from luce.data.transforms.scaling import SymLog1p as SymLog1p
