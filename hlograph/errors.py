"""Every error that a user can cause; see `hlograph.codegen.errors`."""

from .codegen.errors import ArgumentError as ArgumentError
from .codegen.errors import ArgumentShapeError as ArgumentShapeError
from .codegen.errors import ArgumentTypeError as ArgumentTypeError
from .codegen.errors import ArtifactError as ArtifactError
from .codegen.errors import ArtifactNotFoundError as ArtifactNotFoundError
from .codegen.errors import BatchingError as BatchingError
from .codegen.errors import CheckFailedError as CheckFailedError
from .codegen.errors import CompileError as CompileError
from .codegen.errors import DataDependentSizeError as DataDependentSizeError
from .codegen.errors import DerivativeError as DerivativeError
from .codegen.errors import DeviceError as DeviceError
from .codegen.errors import GraphError as GraphError
from .codegen.errors import HlographError as HlographError
from .codegen.errors import IndexOutOfBoundsError as IndexOutOfBoundsError
from .codegen.errors import LoweringError as LoweringError
from .codegen.errors import MissingInputError as MissingInputError
from .codegen.errors import OptionError as OptionError
from .codegen.errors import PaddingError as PaddingError
from .codegen.errors import PassError as PassError
from .codegen.errors import PolicyError as PolicyError
from .codegen.errors import RewriteError as RewriteError
from .codegen.errors import SizeOverflowError as SizeOverflowError
from .codegen.errors import UnsupportedGraphError as UnsupportedGraphError
from .codegen.errors import UnsupportedOpError as UnsupportedOpError
from .codegen.errors import UnsupportedVersionError as UnsupportedVersionError
